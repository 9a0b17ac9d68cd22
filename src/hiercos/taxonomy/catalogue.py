"""Taxonomies that come with the package, as text in `hierarchies/`: one path per class, in class order."""

from difflib import get_close_matches
from importlib.resources import files

from hiercos.taxonomy.errors import TaxonomyError
from hiercos.taxonomy.formats.lines import read_lines
from hiercos.taxonomy.tree import Taxonomy

CATALOGUE = {
    "cifar100": "the 5 levels of the paper over CIFAR-100; levels 4 and 5 are the data set's coarse and fine labels",
}


def load_taxonomy(name: str) -> Taxonomy:
    """A taxonomy of the catalogue by its name; the classes are in the order of the data set's labels.

    Raises:
        TaxonomyError: for an unknown name, with the nearest one.

    Example:
        >>> load_taxonomy("cifar100")
        Taxonomy(134 nodes, 100 classes, height 5)
    """
    if name not in CATALOGUE:
        nearest = get_close_matches(name, CATALOGUE, n=1)
        suggestion = f"; did you mean {nearest[0]!r}?" if nearest else ""
        raise TaxonomyError(
            f"no taxonomy called {name!r} comes with the package{suggestion} (there are: {', '.join(CATALOGUE)}; "
            "Taxonomy.read reads files)"
        )
    text = files("hiercos.taxonomy").joinpath("hierarchies", f"{name}.txt").read_text(encoding="utf-8")
    return read_lines(text)
