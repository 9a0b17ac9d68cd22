"""Sizes of modules, functions and commands, and imports that bypass public names: python benchmarks/code_sizes.py [SRC]

SRC is the folder with the package `hiercos`, by default that of this repository. A line of code is not blank, a comment
or a part of a docstring; a function's body is counted in lines without its docstring. Top-level names are public
functions and classes of modules, importable ones those of `__all__` or of a stub beside it. The options of a command
are counted without --help. An import bypasses public names if it names a module inside another package of hiercos,
other than the sub-packages that are public themselves and the modules that commands are built from.
"""

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}
PUBLIC_INSIDE = {"encoders.backbones", "metrics.functional", "paper.published", "taxonomy.formats"}
FOR_COMMANDS = ("cli.options.", "cli.display.")


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
            is_public = inside in PUBLIC_INSIDE or f"{inside}.".startswith(FOR_COMMANDS)
            if rest and package != own and (source / package).is_dir() and not is_public:
                yield inside


def code_lines(text: str, tree: ast.Module) -> int:
    """Number of lines that hold code: any token but a comment or a docstring."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {line for token in tokens if token.type not in NO_CODE for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(tree):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module)) and ast.get_docstring(node) is not None:
            lines -= {*range(node.body[0].lineno, node.body[0].end_lineno + 1)}  # type: ignore[operator]
    return len(lines)


def top_level_names(tree: ast.Module) -> set[str]:
    """Public functions and classes that a module defines."""
    names = {node.name for node in tree.body if isinstance(node, (*FUNCTIONS, ast.ClassDef))}
    return {name for name in names if not name.startswith("_")}


def importable_names(file: Path, tree: ast.Module) -> set[str]:
    """Names in `__all__` of a module, or in the stub from which a package fills it."""
    if (stub := file.with_suffix(".pyi")).exists():
        body = ast.parse(stub.read_text(encoding="utf-8")).body
        return {alias.asname or alias.name for node in body if isinstance(node, ast.ImportFrom) for alias in node.names}
    lists = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets) == "__all__"
    ]
    return {name.value for found in lists for name in ast.walk(found) if isinstance(name, ast.Constant)}


def command_options(source: Path) -> dict[str, list[str]]:
    """Names of the options of each command of the package in a folder."""
    sys.path.insert(0, str(source))
    import typer

    from hiercos.cli.app import app

    def options(command: Any, name: str) -> Iterator[tuple[str, list[str]]]:
        context = typer.Context(command)
        for child in getattr(command, "commands", ()):
            yield from options(command.get_command(context, child), f"{name} {child}".strip())
        if not hasattr(command, "commands"):
            found = [parameter for parameter in command.params if parameter.param_type_name == "option"]
            yield name, [parameter.opts[0] for parameter in found]

    return dict(options(typer.main.get_command(app), ""))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("src", type=Path, nargs="?", default=Path(__file__).parent.parent / "src")
    folder = parser.parse_args().src.resolve()
    source = folder / "hiercos"
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(source.rglob("*.py"))}
    trees = {file: ast.parse(text) for file, text in texts.items()}
    owners = {file: parts[0] if len(parts := file.relative_to(source).parts) > 1 else "(top)" for file in trees}
    bodies = [
        (body_lines(node), f"{file.relative_to(source)}:{node.name}")
        for file, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS)
    ]
    classes = sum(isinstance(node, ast.ClassDef) for tree in trees.values() for node in ast.walk(tree))
    lengths, sizes = [length for length, _ in bodies], {file: len(text.splitlines()) for file, text in texts.items()}
    code = {file: code_lines(texts[file], tree) for file, tree in trees.items()}
    names = {file: len(top_level_names(tree)) for file, tree in trees.items()}
    public = {file: len(importable_names(file, tree)) for file, tree in trees.items()}
    print(f"modules           {len(trees)}, of them __init__ {sum(file.name == '__init__.py' for file in trees)}")
    print(f"lines             {sum(sizes.values()):,}, of code {sum(code.values()):,}")
    print(
        f"lines a module    median {median(sizes.values()):g}, longest {max(sizes.values())}, "
        f"above 350: {sum(count > 350 for count in sizes.values())}"
    )
    print(f"functions         {len(bodies):,}, classes {classes}")
    print(f"lines of a body   median {median(lengths):g}, p90 {quantiles(lengths, n=10)[-1]:g}, longest {max(bodies)}")
    print(f"names             top-level {sum(names.values()):,}, importable {sum(public.values())}")
    bypassed = [name for file, tree in trees.items() for name in bypasses(tree, owners[file], source)]
    among = f" {', '.join(sorted(set(bypassed)))}" if bypassed else ""
    print(f"imports that bypass public names: {len(bypassed)}{among}")
    print(f"\n{'package':14}{'modules':>9}{'lines':>9}{'code':>9}{'names':>9}{'importable':>12}")
    for package, modules in sorted(Counter(owners.values()).items()):
        own = [file for file, owner in owners.items() if owner == package]
        sums = [sum(values[file] for file in own) for values in (sizes, code, names, public)]
        print(f"{package:14}{modules:>9}{''.join(f'{value:>9,}' for value in sums[:3])}{sums[3]:>12}")
    commands = command_options(folder)
    distinct = {option for options in commands.values() for option in options}
    print(f"\noptions of commands: {len(distinct)} distinct")
    for name, options in commands.items():
        print(f"  {name:18}{len(options):>3}  {' '.join(options)}".rstrip())


if __name__ == "__main__":
    main()
