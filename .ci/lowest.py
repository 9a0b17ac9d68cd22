"""Print constraints that pin what pyproject.toml needs to its lower bounds, and torch to the tested version.

The bounds are those of the dependencies and of the extras in EXTRAS; the others name large libraries that bound each
other.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ("parquet", "images", "onnx", "serve", "obo")
BOUND = re.compile(r"([A-Za-z0-9_-]+)(?:\[[a-z,]+\])?>=([0-9.]+)")


def main() -> None:
    """Print one line a package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [each for name in EXTRAS for each in project["optional-dependencies"][name]]
    bounds = dict(found.groups() for each in [*project["dependencies"], *extras] if (found := BOUND.match(each)))
    del bounds["torch"]
    tested = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    print(*re.findall(r"^torch==.*$", tested, flags=re.MULTILINE), sep="\n")
    print(*(f"{name}=={version}" for name, version in sorted(bounds.items())), sep="\n")


if __name__ == "__main__":
    main()
