"""Sizes of modules and functions, and imports that bypass public names: python benchmarks/house.py [SRC]

SRC is the folder with the package `hiercos`, by default that of this repository. A function's body is counted in lines
without its docstring. An import bypasses public names if it names a module inside another package of hiercos, other
than the sub-packages that are public themselves.
"""

import argparse
import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

PUBLIC_INSIDE = {"benchmark.published", "metrics.functional", "nn.backbones", "taxonomy.formats"}


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function's body, without its docstring."""
    statements = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return statements[-1].end_lineno - statements[0].lineno + 1 if statements else 0  # type: ignore[operator]


def bypasses(tree: ast.Module, own: str, source: Path) -> Iterator[str]:
    """Modules inside other packages from which a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hiercos."):
            inside = str(node.module).removeprefix("hiercos.")
            package, _, rest = inside.partition(".")
            if rest and package != own and (source / package).is_dir() and inside not in PUBLIC_INSIDE:
                yield inside


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("src", type=Path, nargs="?", default=Path(__file__).parent.parent / "src")
    source = parser.parse_args().src / "hiercos"
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in sorted(source.rglob("*.py"))}
    owners = {file: parts[0] if len(parts := file.relative_to(source).parts) > 1 else "(top)" for file in trees}
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [body_lines(node) for tree in trees.values() for node in ast.walk(tree) if isinstance(node, kinds)]
    sizes = [len(file.read_text(encoding="utf-8").splitlines()) for file in trees]
    packages = Counter(owners.values())
    found = [name for file, tree in trees.items() for name in bypasses(tree, owners[file], source)]
    print(f"modules           {len(trees)}, of them __init__ {sum(file.name == '__init__.py' for file in trees)}")
    print(f"lines a module    median {median(sizes):g}, longest {max(sizes)}, above 350: {sum(n > 350 for n in sizes)}")
    print(f"functions         {len(bodies)}")
    print(f"lines of a body   median {median(bodies):g}, p90 {quantiles(bodies, n=10)[-1]:g}, longest {max(bodies)}")
    print(f"modules a package {', '.join(f'{name} {count}' for name, count in sorted(packages.items()))}")
    print(f"imports that bypass public names: {len(found)}{' ' if found else ''}{', '.join(sorted(set(found)))}")


if __name__ == "__main__":
    main()
