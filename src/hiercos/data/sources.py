"""From one word of the user to a data set: a built-in name, a table or an .npz of vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hiercos.data.built_in import BUILT_IN
from hiercos.data.dataset import Dataset, Inputs, check_inputs
from hiercos.data.errors import DataError
from hiercos.data.images import Images
from hiercos.data.labels import LabelReader
from hiercos.data.npz import array_row_name, feature_matrix, read_npz
from hiercos.data.path_labels import taxonomy_of_labels
from hiercos.data.rows import AnyArray, RowName
from hiercos.data.splits import completed_split, folded
from hiercos.data.table import read_table
from hiercos.data.table_files import TABLES
from hiercos.taxonomy import Taxonomy, open_taxonomy

SPLIT_COLUMN = "split"


def load_dataset(
    source: str | Path,
    *,
    taxonomy: str | Path | Taxonomy | None = None,
    text_column: str = "text",
    label_column: str = "label",
    split_column: str = SPLIT_COLUMN,
    root: str | Path | None = None,
) -> Dataset:
    """The data set that a word of the user names.

    Args:
        source: a built-in name (`icd10cm`, or `icd10cm:9,10` for some chapters), or a .csv, .tsv, .parquet or
            .npz file.
        taxonomy: the tree of the user's own data, its file or a name of the catalogue; without one the labels
            must be paths `a > b > c`.
        text_column: the column of texts in a table.
        label_column: the column of labels in a table.
        split_column: the column of splits in a table; where it has none by the default name, one is made.
        root: the folder that a built-in data set with files of its own is below (see `data_root`).

    Raises:
        DataError: for data that cannot be used, with every fault by file, row and value.
        TaxonomyError: for a taxonomy that cannot be used.
    """
    name, _, rest = str(source).partition(":")
    if name in BUILT_IN:
        if taxonomy is not None:
            raise DataError(f"{name} brings its own taxonomy: expected no other, got {_shown(taxonomy)}")
        return BUILT_IN[name].load(rest, None if root is None else Path(root))
    path = Path(source)
    tree = open_taxonomy(taxonomy) if isinstance(taxonomy, str | Path) else taxonomy
    return _dataset(path, read_samples(path, text_column, label_column, split_column), tree)


def existing_suffix(path: Path, suffixes: Sequence[str], *, known: str = "") -> str:
    """The extension of a file that is there and is one of these; otherwise a DataError says what is expected."""
    expected = f"expected a file ({', '.join(suffixes)}) {known}".rstrip()
    if not path.exists():
        raise DataError(f"{path}: there is no such file; {expected}")
    if path.is_dir():
        raise DataError(f"{path} is a folder; {expected}")
    if path.suffix.lower() not in suffixes:
        raise DataError(f"{path}: the extension {path.suffix!r} is not known; {expected}")
    return path.suffix.lower()


def _shown(taxonomy: str | Path | Taxonomy) -> str:
    return repr(taxonomy) if isinstance(taxonomy, Taxonomy) else str(taxonomy)


@dataclass(frozen=True)
class Samples:
    """The rows of a file as the user wrote them: inputs checked, labels and splits (if any) not yet read."""

    inputs: Inputs
    labels: Sequence[str] | AnyArray
    split: Sequence[str] | AnyArray | None
    row_name: RowName


def read_samples(path: Path, text: str, label: str, split: str) -> Samples:
    """The rows of an .npz file, or of a table with these columns of texts, labels and splits."""
    suffix = existing_suffix(path, (".npz", *TABLES), known=f"or a built-in name ({', '.join(BUILT_IN)})")
    return _vectors(path) if suffix == ".npz" else _texts(path, text, label, split)


def _vectors(path: Path) -> Samples:
    arrays = read_npz(path, arrays=("features", "labels"), optional=("split",))
    features = feature_matrix(path, arrays["features"])
    check_inputs(features, source=str(path))
    for name in ("labels", "split"):
        if name in arrays and arrays[name].shape != (len(features),):
            raise DataError(
                f"{path}: expected {name!r} of shape ({len(features)},) like the rows of 'features', "
                f"got {arrays[name].shape}"
            )
    return Samples(features, arrays["labels"], arrays.get("split"), array_row_name)


def _texts(path: Path, text: str, label: str, split: str) -> Samples:
    named = (text, label) if split == SPLIT_COLUMN else (text, label, split)  # what the user named must be there
    table = read_table(path, columns=named, optional=(SPLIT_COLUMN,))
    texts = table.columns[text]
    check_inputs(texts, source=str(path), row_name=table.row_name)
    return Samples(texts, table.columns[label], table.columns.get(split), table.row_name)


def sample_keys(inputs: Inputs) -> Sequence[str | bytes]:
    """What the split of each sample depends on: the words of a text, the numbers of a vector, the bytes of an image."""
    if isinstance(inputs, tuple):
        return [folded(text) for text in inputs]
    if isinstance(inputs, Images):
        return [digest.tobytes() for digest in inputs.digests]
    return [row.astype("<f4").tobytes() for row in inputs]


def _dataset(path: Path, samples: Samples, taxonomy: Taxonomy | None) -> Dataset:
    """The data set of these samples; its taxonomy is made from the labels where none is given."""
    source, row_name = str(path), samples.row_name
    tree = taxonomy_of_labels(samples.labels, source=source, row_name=row_name) if taxonomy is None else taxonomy
    made = f"{source} came without a taxonomy: one with {tree.num_classes} classes was made from the labels."
    classes = LabelReader(tree).read(samples.labels, source=source, row_name=row_name)
    chosen, notes = completed_split(sample_keys(samples.inputs), samples.split, source=source, row_name=row_name)
    return Dataset(
        name=path.stem,
        taxonomy=tree,
        inputs=samples.inputs,
        labels=classes,
        split=chosen,
        notes=(made, *notes) if taxonomy is None else notes,
        source=source,
    )
