"""Read mutated files with every reader in one process, and report what is not an error of this package (`make fuzz`).

    python benchmarks/fuzz.py --inputs 1000000
    python benchmarks/fuzz.py --inputs 1000000 --totals totals.json   # continues after it was stopped

Each finding is written to a file, to be kept in tests/corpus as a regression test.
"""

import argparse
import json
import math
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fuzzing import Report, fuzz
from hiercos.storage import write

PORTION = 20_000  # inputs between two writings of the counts


class Totals:
    """Counts over portions with different seeds, kept in a file if there is one."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        stored = json.loads(file.read_text()) if file and file.is_file() else {}
        self.portions: int = stored.get("portions", 0)
        self.memory: int = stored.get("memory", 0)
        self.inputs: dict[str, int] = stored.get("inputs", {})
        self.slowest: dict[str, float] = stored.get("slowest", {})
        self.findings: list[str] = stored.get("findings", [])

    @property
    def count(self) -> int:
        """Number of inputs."""
        return sum(self.inputs.values())

    def add(self, report: Report) -> None:
        """Count a portion, and write the file."""
        self.portions, self.memory = self.portions + 1, max(self.memory, report.memory)
        for name, count in report.inputs.items():
            self.inputs[name] = self.inputs.get(name, 0) + count
            self.slowest[name] = max(self.slowest.get(name, 0.0), report.slowest[name])
        self.findings += [f"{name}: {finding}" for name, finding in report.findings]
        if self.file:
            values = {key: value for key, value in vars(self).items() if key != "file"}
            write(self.file, json.dumps(values, indent=1) + "\n")


def main() -> None:
    """Print a row for each reader, and the findings; exit code 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="longest time; no limit by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="readers whose name begins so")
    parser.add_argument("--findings", type=Path, default=Path("findings"), help="folder for inputs that were found")
    parser.add_argument("--totals", type=Path, help="JSON file of the counts; a run that was stopped continues")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of the libraries that read damaged files
    totals, end = Totals(options.totals), time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        while totals.count < options.inputs and time.monotonic() < end:
            count, seed = min(PORTION, options.inputs - totals.count), options.seed + totals.portions
            report = fuzz(Path(folder), count, seed, only=options.only, seconds=end - time.monotonic())
            keep_findings(report, options.findings, seed)
            totals.add(report)
    for name, count in sorted(totals.inputs.items()):
        print(f"{name:20} {count:9,} inputs, slowest {totals.slowest[name]:6.3f} s")
    print(
        f"{totals.count:,} inputs, {len(totals.findings)} findings, slowest {max(totals.slowest.values()):.2f} s, "
        f"at most {totals.memory / 2**20:,.0f} MiB"
    )
    sys.exit(bool(totals.findings))


def keep_findings(report: Report, folder: Path, seed: int) -> None:
    """Print the findings of a portion, and write their inputs into a folder."""
    for number, ((name, finding), content) in enumerate(report.findings.items()):
        folder.mkdir(exist_ok=True)
        (folder / f"{name}-{seed}-{number}").write_bytes(content)
        print(f"{name}: {finding}", flush=True)


if __name__ == "__main__":
    main()
