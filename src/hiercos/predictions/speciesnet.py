"""Prediction files of SpeciesNet: a JSON object with a list `predictions` of one object per image.

A class is `id;class;order;family;genus;species;common name`, where parts may be blank: a family has no species, and
`blank` has only an id and a common name.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

from hiercos.errors import DataError
from hiercos.predictions.guesses import Guess, ImageGuesses
from hiercos.taxonomy import PATH_SEPARATOR, repeated

RANKS = 5  # number of ranks between id and common name: class, order, family, genus, species


def read_speciesnet(path: Path) -> list[ImageGuesses]:
    """Predictions of each image: the final `prediction` if there is one, then the classifications by their scores.

    An image that SpeciesNet could not read has no predictions.

    Raises:
        DataError: for another kind of file, and every image without a path or with mismatched classes and scores.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: expected predictions of SpeciesNet in JSON ({error})") from error
    images = content.get("predictions") if isinstance(content, dict) else None
    if not isinstance(images, list) or not images:
        raise DataError(f"{path}: expected predictions of SpeciesNet, an object with a list 'predictions'")
    faults = [
        f"{path}: prediction {number}: {fault}" for number, image in enumerate(images, 1) for fault in _faults(image)
    ]
    names = [str(image.get("filepath", "")) for image in images if isinstance(image, dict)]
    faults += [f"{path}: {name!r} appears {count} times" for name, count in repeated(names) if name]
    if faults:
        raise DataError(faults)
    return [ImageGuesses(image["filepath"], [_guess(name) for name in _ranked(image)]) for image in images]


def _faults(image: Any) -> Iterator[str]:
    if not isinstance(image, dict):
        yield f"expected an object, got {shortened(image)}"
        return
    if not isinstance(image.get("filepath"), str) or not image["filepath"].strip():
        yield f"expected a path in 'filepath', got {shortened(image.get('filepath'))}"
    if not isinstance(image.get("prediction", ""), str):
        yield f"expected text in 'prediction', got {shortened(image['prediction'])}"
    found = image.get("classifications", {})
    classes, scores = (found.get(key, []) for key in ("classes", "scores")) if isinstance(found, dict) else (None, None)
    if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        yield "expected a list of texts in 'classifications', 'classes'"
    elif not isinstance(scores, list) or len(scores) != len(classes) or not all(map(_is_number, scores)):
        yield "expected a number in 'classifications', 'scores', for each of the classes"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and value == value  # noqa: PLR0124 - false for nan


def _ranked(image: dict[str, Any]) -> list[str]:
    found = image.get("classifications", {})
    scored = sorted(zip(found.get("scores", []), found.get("classes", []), strict=True), key=lambda pair: -pair[0])
    final = [image["prediction"]] if image.get("prediction") else []
    return list(dict.fromkeys([*final, *(name for _, name in scored)]))


def _guess(text: str) -> Guess:
    """Prediction from its text: id, path with the species alone or with its genus, scientific and common name."""
    given_id, *ranks, common = [part.strip() for part in text.split(";")] if ";" in text else ["", text.strip()]
    path = [rank for rank in ranks if rank]
    genus, species = ranks[-2:] if len(ranks) == RANKS else ("", "")
    scientific = f"{genus} {species}" if species else "".join(path[-1:])
    by_both = [*path[:-1], scientific] if species else []
    ways = (given_id, *map(PATH_SEPARATOR.join, (path if len(path) > 1 else [], by_both)), scientific, common)
    return Guess(common or scientific or text, tuple(way for way in ways if way))
