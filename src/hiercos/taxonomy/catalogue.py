"""Taxonomies bundled with the package, as text in `hierarchies/`: one path per class, in class order."""

from importlib.resources import files
from pathlib import Path

from hiercos.errors import suggestion
from hiercos.taxonomy.checks import TaxonomyError
from hiercos.taxonomy.formats import read_taxonomy
from hiercos.taxonomy.formats.tables import read_lines
from hiercos.taxonomy.tree import Taxonomy

MODEL_FILE = "taxonomy.json"  # taxonomy in a model folder
CATALOGUE = {
    "cifar100": "the 5 levels of the paper over CIFAR-100; levels 4 and 5 are the data set's coarse and fine labels",
}


def load_taxonomy(name: str) -> Taxonomy:
    """Load a bundled taxonomy by name; the classes are in the order of the data set's labels.

    Raises:
        TaxonomyError: for an unknown name; the message suggests the nearest known name, or lists all.

    Example:
        >>> load_taxonomy("cifar100")
        Taxonomy(134 nodes, 100 classes, height 5)
    """
    if name not in CATALOGUE:
        raise TaxonomyError(
            f"no taxonomy called {name!r} comes with the package (Taxonomy.read reads files)"
            f"{suggestion(name, CATALOGUE)}"
        )
    text = files("hiercos.taxonomy").joinpath("hierarchies", f"{name}.txt").read_text(encoding="utf-8")
    return read_lines(text)


def check_taxonomy_source(source: str | Path) -> None:
    """Check that `open_taxonomy` would find a taxonomy, without reading it; raises `TaxonomyError` if not."""
    path = Path(source)
    if path.is_file() or (path / MODEL_FILE).is_file() or _is_bundled(path, source):
        return
    if path.is_dir():
        raise TaxonomyError(f"{source}: expected a file or the folder of a model, this folder has no {MODEL_FILE}")
    if _is_path(path, source):
        raise TaxonomyError(f"{source}: there is no such file")
    raise TaxonomyError(
        f"{source}: there is no such file, and no built-in taxonomy of that name{suggestion(path.name, CATALOGUE)}"
    )


def _is_bundled(path: Path, source: str | Path) -> bool:
    """Whether the source is the bare name of a bundled taxonomy."""
    return path.name in CATALOGUE and not _is_path(path, source)


def _is_path(path: Path, source: str | Path) -> bool:
    """Whether the source is a path rather than a bundled name: it has an extension or a folder."""
    return bool(path.suffix) or path.name != str(source)


def open_taxonomy(source: str | Path) -> Taxonomy:
    """Read a taxonomy from a file or a model folder or, if there is none, load the bundled taxonomy of that name.

    Args:
        source: path or bundled name; it is a path if it has a folder or an extension, or if it is the name of a file
            or of a model folder. Another folder does not hide a bundled name.

    Example:
        >>> open_taxonomy("cifar100")
        Taxonomy(134 nodes, 100 classes, height 5)
    """
    path = Path(source)
    if (path / MODEL_FILE).is_file():
        return read_taxonomy(path / MODEL_FILE)
    if path.is_file() or (_is_path(path, source) and not path.is_dir()):
        return read_taxonomy(path)
    check_taxonomy_source(source)
    return load_taxonomy(path.name)
