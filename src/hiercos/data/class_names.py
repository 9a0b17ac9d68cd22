"""Classes by names that other programs write: letter case, underscores and the spaces between words do not matter."""

from collections.abc import Iterable

from hiercos.data.labels import PATH_SIGN, path_parts
from hiercos.taxonomy import Taxonomy

SEVERAL = -1


class LooseNames:
    """Finds the class that a name means: its id, its path, or its name where no other class has it.

    Args:
        taxonomy: the tree whose classes are named.

    Example:
        >>> names = LooseNames(Taxonomy.from_paths([("Felidae", "Panthera leo"), ("Canidae", "Canis lupus")]))
        >>> names.find(["no id", "panthera_leo"])
        0
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._classes: dict[str, int] = {}
        for label, leaf in enumerate(taxonomy.leaves.tolist()):
            given_id = taxonomy.ids[leaf] if taxonomy.ids else ""
            for name in {_loose(name) for name in (given_id, taxonomy.path_text(leaf), taxonomy.names[leaf])} - {""}:
                self._classes[name] = SEVERAL if name in self._classes else label

    def find(self, names: Iterable[str]) -> int | None:
        """The class that the first of these names with one meaning stands for; None if there is none."""
        found = (self._classes.get(_loose(name), SEVERAL) for name in names)
        return next((label for label in found if label != SEVERAL), None)


def _loose(name: str) -> str:
    words = (" ".join(part.replace("_", " ").casefold().split()) for part in path_parts(name))
    return f" {PATH_SIGN} ".join(words)
