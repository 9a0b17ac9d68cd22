"""From one word of the user to a data set: a built-in name, a folder of images, a table or an .npz of vectors."""

from collections.abc import Sequence
from pathlib import Path

from hiercos.data.catalogue.built_in import BUILT_IN
from hiercos.data.dataset import Dataset, Inputs
from hiercos.data.images.collections import Images
from hiercos.data.images.faulty import CheckCallback
from hiercos.data.images.usable import with_usable_images
from hiercos.data.path_labels import taxonomy_of_labels
from hiercos.data.readers import hugging_face
from hiercos.data.readers.folders import read_folder
from hiercos.data.readers.npz import read_vectors
from hiercos.data.readers.table_files import SAMPLE_TABLES
from hiercos.data.readers.table_samples import read_table_samples
from hiercos.data.samples import LABEL_COLUMN, SPLIT_COLUMN, Samples, SourceOptions
from hiercos.data.splits import completed_split, folded
from hiercos.errors import DataError, suggestion
from hiercos.taxonomy import LabelReader, Taxonomy, counted, open_taxonomy

NPZ = ".npz"
SUFFIXES = (NPZ, *SAMPLE_TABLES)


def load_dataset(
    source: str | Path,
    *,
    taxonomy: str | Path | Taxonomy | None = None,
    text_column: str | None = None,
    path_column: str | None = None,
    label_column: str = LABEL_COLUMN,
    split_column: str = SPLIT_COLUMN,
    root: str | Path | None = None,
    on_error: str = "fail",
    callback: CheckCallback | None = None,
) -> Dataset:
    """The data set that a word of the user names.

    Args:
        source: a built-in name (`icd10cm`, or `icd10cm:9,10` for some chapters), a folder of images, a .csv, .tsv,
            .parquet or .jsonl table, an .npz of vectors, or a data set of Hugging Face (`hf:NAME`, or a folder that
            its `save_to_disk` left).
        taxonomy: the tree of the user's own data, its file or a name of the catalogue; without one the folders or
            the labels must be paths `a > b > c`.
        text_column: the column of texts in a table, "text" by default.
        path_column: the column of paths to images in a table, "path" by default, where it has no texts.
        label_column: the column of labels in a table.
        split_column: the column of splits in a table; where it has none by the default name, one is made.
        root: the folder that a built-in data set with files of its own is below (see `data_root`), or that the paths
            in a table start from; by default the folder of the table.
        on_error: "fail" to refuse data with images that cannot be decoded, "skip" to leave these out.
        callback: called now and then, while images are decoded to find the faulty ones, with how many are done and
            how many there are.

    Raises:
        DataError: for data that cannot be used, with every fault by file, row and value.
        TaxonomyError: for a taxonomy that cannot be used.
    """
    name, _, rest = str(source).partition(":")
    if name in BUILT_IN:
        if taxonomy is not None:
            raise DataError(f"{name} brings its own taxonomy: expected no other, got {_shown(taxonomy)}")
        return with_usable_images(BUILT_IN[name].load(rest, None if root is None else Path(root)), on_error, callback)
    options = SourceOptions(text_column, path_column, label_column, split_column, root, on_error, callback)
    tree = open_taxonomy(taxonomy) if isinstance(taxonomy, str | Path) else taxonomy
    return _dataset(source_name(source), read_samples(source, options), tree)


def check_source(source: str | Path) -> None:
    """Raise a `DataError` for what is neither a known name nor there, with the nearest name; nothing is read."""
    path, name = Path(source), str(source).partition(":")[0]
    if name in BUILT_IN or str(source).startswith(hugging_face.PREFIX) or path.is_dir():
        return
    if not path.exists() and not path.suffix and path.name == str(source):
        missing = "there is no such file or folder, and no built-in data set of that name"
        raise DataError(f"{source}: {missing}{suggestion(name, BUILT_IN)}")
    existing_suffix(path, SUFFIXES, f", a folder of images or a built-in name ({', '.join(BUILT_IN)})")


def read_samples(source: str | Path, options: SourceOptions) -> Samples:
    """The labelled samples of anything but a built-in data set, as the user wrote them."""
    check_source(source)
    path = Path(source)
    if str(source).startswith(hugging_face.PREFIX):
        return hugging_face.read_hub(str(source), options)
    if path.is_dir():
        stored = hugging_face.is_saved(path)
        return hugging_face.read_saved(path, options) if stored else read_folder(path, options)
    return read_vectors(path) if path.suffix.lower() == NPZ else read_table_samples(path, options)


def source_name(source: str | Path) -> str:
    """What messages call it: a name of the hub as it is, a path without a slash at its end."""
    return str(source) if str(source).startswith(hugging_face.PREFIX) else str(Path(source))


def existing_suffix(path: Path, suffixes: Sequence[str], others: str) -> str:
    """The extension of a file that is there and is one of these; otherwise a DataError says what else is expected."""
    expected = f"expected a file ({', '.join(suffixes)}){others}"
    if not path.exists():
        raise DataError(f"{path}: there is no such file; {expected}")
    if path.is_dir():
        raise DataError(f"{path} is a folder; {expected}")
    if path.suffix.lower() not in suffixes:
        raise DataError(f"{path}: the extension {path.suffix!r} is not known; {expected}")
    return path.suffix.lower()


def _shown(taxonomy: str | Path | Taxonomy) -> str:
    return repr(taxonomy) if isinstance(taxonomy, Taxonomy) else str(taxonomy)


def sample_keys(inputs: Inputs) -> Sequence[str | bytes]:
    """What the split of each sample depends on: the words of a text, the numbers of a vector, the bytes of an image."""
    if isinstance(inputs, tuple):
        return [folded(text) for text in inputs]
    if isinstance(inputs, Images):
        return [digest.tobytes() for digest in inputs.digests]
    return [row.astype("<f4").tobytes() for row in inputs]


def _dataset(source: str, samples: Samples, taxonomy: Taxonomy | None) -> Dataset:
    """The data set of these samples; its taxonomy is made from the labels where none is given or comes with them."""
    row_name, notes = samples.row_name, samples.notes
    tree = samples.taxonomy if taxonomy is None else taxonomy
    if taxonomy is not None and samples.taxonomy not in (None, taxonomy):
        raise DataError(f"{source} brings a taxonomy, which is another one: expected that, or none, got {taxonomy!r}")
    if tree is None:
        form = samples.path_form
        tree = taxonomy_of_labels(samples.labels, source=source, row_name=row_name, path_form=form)
        size = counted(tree.num_classes, "class", "classes")
        made = f"{source} came without a taxonomy: one with {size} was made from the labels."
        notes = (*notes, made)
    classes = LabelReader(tree).read(samples.labels, source=source, row_name=row_name)
    chosen, said = completed_split(sample_keys(samples.inputs), samples.split, source=source, row_name=row_name)
    return Dataset(
        name=dataset_name(source),
        taxonomy=tree,
        inputs=samples.inputs,
        labels=classes,
        split=chosen,
        notes=(*notes, *said),
        source=source,
    )


def dataset_name(source: str) -> str:
    """What tables call a source: a name of the hub, a file without its extension, or a folder."""
    if source.startswith(hugging_face.PREFIX):
        return source.removeprefix(hugging_face.PREFIX)
    path = Path(source)
    return path.stem if path.suffix.lower() in SUFFIXES else path.resolve().name
