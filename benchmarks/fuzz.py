"""Read mutated files with every reader in one process, and report what is not an error of this package (`make fuzz`).

    python benchmarks/fuzz.py --inputs 1000000

Each finding is written to a file, to be kept in tests/corpus as a regression test.
"""

import argparse
import math
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fuzzing import fuzz


def main() -> None:
    """Print a row for each reader, and the findings; exit code 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="longest time; no limit by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="readers whose name begins so")
    parser.add_argument("--findings", type=Path, default=Path("findings"), help="folder for inputs that were found")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of the libraries that read damaged files
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        report = fuzz(Path(folder), options.inputs, options.seed, only=options.only, seconds=options.seconds)
    for name, count in sorted(report.inputs.items()):
        print(f"{name:20} {count:9,} inputs, slowest {report.slowest[name]:6.3f} s")
    for number, ((name, finding), content) in enumerate(report.findings.items()):
        options.findings.mkdir(exist_ok=True)
        (options.findings / f"{name}-{number}").write_bytes(content)
        print(f"{name}: {finding}")
    seconds = time.perf_counter() - began
    total = sum(report.inputs.values())
    print(
        f"{total:,} inputs in {seconds:,.0f} s, {len(report.findings)} findings, slowest "
        f"{max(report.slowest.values()):.2f} s, at most {report.memory / 2**20:,.0f} MiB"
    )
    sys.exit(bool(report.findings))


if __name__ == "__main__":
    main()
