"""Matching of class names and image paths written by other programs."""

from collections.abc import Iterable, Sequence

from hiercos.errors import DataError
from hiercos.taxonomy import PATH_SIGN, Taxonomy, path_parts

SEVERAL = -1


class LooseNames:
    """Lookup of classes by id, path or unique name; letter case, underscores and repeated spaces are ignored.

    Args:
        taxonomy: taxonomy of the classes.

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
        """Class of the first name that identifies exactly one class; None if no name does."""
        found = (self._classes.get(_loose(name), SEVERAL) for name in names)
        return next((label for label in found if label != SEVERAL), None)


def _loose(name: str) -> str:
    words = (" ".join(part.replace("_", " ").casefold().split()) for part in path_parts(name))
    return f" {PATH_SIGN} ".join(words)


AMBIGUOUS = -2
ABSENT = -1


def matched_images(wanted: Sequence[str], given: Sequence[str], *, source: str) -> list[int]:
    """Index of each wanted image among the given paths, M indices; -1 if it is missing.

    Two paths name the same image if they are equal or one is the end of the other, folder by folder: `cats/1.jpg` and
    `/data/cats/1.jpg`.

    Args:
        wanted: M distinct paths.
        given: distinct paths to search.
        source: name of the file with the given paths, for messages.

    Raises:
        DataError: for every wanted path that matches several given paths, or the same one as another wanted path.

    Example:
        >>> matched_images(["cats/1.jpg", "cats/3.jpg"], ["/data/cats/2.jpg", "/data/cats/1.jpg"], source="x.csv")
        [1, -1]
    """
    parts = [_parts(path) for path in given]
    whole = {path: place for place, path in enumerate(parts)}
    ends: dict[tuple[str, ...], int] = {}
    for place, path in enumerate(parts):
        for start in range(1, len(path)):
            ends[path[start:]] = AMBIGUOUS if path[start:] in ends else place
    places = [_place(_parts(path), whole, ends) for path in wanted]
    taken: dict[int, str] = {}
    faults = []
    for name, place in zip(wanted, places, strict=True):
        if place == AMBIGUOUS:
            faults.append(f"{source}: {name!r} may be several images: expected more of its folders in the path")
        elif place != ABSENT and (first := taken.setdefault(place, name)) != name:
            faults.append(f"{source}: {given[place]!r} may be {first!r} or {name!r}: expected longer paths")
    if faults:
        raise DataError(faults)
    return places


def _parts(path: str) -> tuple[str, ...]:
    """Folders and file name of a path, with slashes or backslashes."""
    return tuple(part for part in path.strip().replace("\\", "/").split("/") if part not in ("", "."))


def _place(path: tuple[str, ...], whole: dict[tuple[str, ...], int], ends: dict[tuple[str, ...], int]) -> int:
    if path in whole:
        return whole[path]
    if path in ends:
        return ends[path]
    return next((whole[path[start:]] for start in range(1, len(path)) if path[start:] in whole), ABSENT)
