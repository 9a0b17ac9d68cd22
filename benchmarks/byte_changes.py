"""Change single bytes of stored files, many times, and count how often that was refused, harmless, or silent.

python benchmarks/byte_changes.py --changes 2500
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from byte_changes import outcomes, stored_things


def main() -> None:
    """Print a row for each kind of file; exit code 1 if a change was silent or raised a foreign exception."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for stored in stored_things(Path(folder), os.environ.__setitem__):
            found = outcomes(stored, options.changes // 5, options.seed)
            print(f"{stored.name:15} {dict(found)}", flush=True)
            total += found
    print(dict(total))
    sys.exit(not total.keys() <= {"refused", "harmless"})


if __name__ == "__main__":
    main()
