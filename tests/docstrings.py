"""Real texts that are on every machine: docstrings of Python's standard library, their classes the modules."""

import ast
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hiercos import Taxonomy
from hiercos.data import Dataset, Texts

LIBRARY = Path(sysconfig.get_path("stdlib"))
PACKAGES = ("asyncio", "email", "http", "importlib", "logging", "unittest")
FEWEST, MOST = 8, 20  # docstrings of a module


def docstrings(path: Path) -> Iterator[str]:
    """Those of the classes and functions in a file, each once, as one line."""
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, documented)]
    yield from dict.fromkeys(" ".join(text.split()) for node in nodes if (text := ast.get_docstring(node)))


def docstring_data() -> Dataset:
    """Docstrings of some packages, by package and module."""
    found = {path: list(docstrings(path))[:MOST] for name in PACKAGES for path in sorted((LIBRARY / name).glob("*.py"))}
    found = {path: texts for path, texts in found.items() if len(texts) >= FEWEST}
    tree = Taxonomy.from_paths([(path.parent.name, f"{path.parent.name}.{path.stem}") for path in found])
    labels = [tree.class_names.index(f"{path.parent.name}.{path.stem}") for path in found for _ in found[path]]
    texts = [text for each in found.values() for text in each]
    return Dataset("docstrings", tree, Texts(texts), tree.leaves[labels], np.full(len(texts), ""))
