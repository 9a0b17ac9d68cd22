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
    _file_of(source)


def open_taxonomy(source: str | Path) -> Taxonomy:
    """Read a taxonomy from a file or a model folder or, if there is none, load the bundled taxonomy of that name.

    Args:
        source: path or bundled name; it is a path if it has a folder or an extension, or if it is the name of a file
            or of a model folder. Another folder does not hide a bundled name.

    Example:
        >>> open_taxonomy("cifar100")
        Taxonomy(134 nodes, 100 classes, height 5)
    """
    file = _file_of(source)
    return load_taxonomy(str(source)) if file is None else read_taxonomy(file)


def _file_of(source: str | Path) -> Path | None:
    """The file that a source names, None for a bundled taxonomy; a `TaxonomyError` if there is neither."""
    path = Path(source)
    is_path = bool(path.suffix) or path.name != str(source)
    if (path / MODEL_FILE).is_file():
        return path / MODEL_FILE
    if path.exists() and not path.is_dir():  # a file, or a pipe such as the output of another command
        return path
    if path.name in CATALOGUE and not is_path:
        return None
    if path.is_dir():
        raise TaxonomyError(f"{source}: expected a file or the folder of a model, this folder has no {MODEL_FILE}")
    other = "" if is_path else f", and no built-in taxonomy of that name{suggestion(path.name, CATALOGUE)}"
    raise TaxonomyError(f"{source}: there is no such file{other}")
