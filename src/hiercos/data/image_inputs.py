"""Images without labels: below a folder, in a file, or listed in a table or line by line."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hiercos.data.decoding import SUFFIXES
from hiercos.data.folders import image_tree, other_files
from hiercos.data.images import ImageFiles
from hiercos.data.rows import RowName
from hiercos.data.table import read_table
from hiercos.data.table_samples import listed_images


@dataclass(frozen=True)
class ListedImages:
    """Images as somebody listed them, not yet decoded.

    Attributes:
        images: M of them.
        numbers: of each as people count: the line of a text file, else from 1.
        source: what messages call them together.
        row_name: what messages call the row of each, where a table or standard input lists them.
        notes: sentences about what was left out.
    """

    images: ImageFiles
    numbers: tuple[int, ...]
    source: str
    row_name: RowName | None = None
    notes: tuple[str, ...] = ()


def images_at(path: Path, *, path_column: str, root: str | Path | None) -> ListedImages:
    """Every image below a folder in the order of the paths, the image in a file, or the images a table lists."""
    if path.is_dir():
        tree = image_tree(path)
        images = ImageFiles([path / image for image in tree.images])
        return ListedImages(images, _counted(images), str(path), notes=other_files(path, tree))
    if path.suffix.lower() in SUFFIXES:
        return ListedImages(ImageFiles([path]), (1,), str(path))
    table = read_table(path, columns=(path_column,))
    images = listed_images(table.columns[path_column], path, root, table.row_name)
    return ListedImages(images, table.numbers, str(path), table.row_name)


def images_of_lines(numbers: tuple[int, ...], paths: Sequence[str], *, root: str | Path | None) -> ListedImages:
    """The images whose paths stand on the lines of standard input; they start from the root, if one is given."""
    images = ImageFiles([Path(root or ".") / path for path in paths])
    return ListedImages(images, numbers, "standard input", lambda row: f"row {numbers[row]}")


def _counted(images: ImageFiles) -> tuple[int, ...]:
    return tuple(range(1, len(images) + 1))
