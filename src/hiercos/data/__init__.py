"""Data sets: the built-in ones, the user's own tables and vectors, splits and features."""

from hiercos.data.dataset import Dataset
from hiercos.data.errors import DataError
from hiercos.data.holdout import TestSamples, load_test_samples
from hiercos.data.labels import LabelReader
from hiercos.data.sources import BUILT_IN, load_dataset
from hiercos.data.splits import hash_split

__all__ = [
    "BUILT_IN",
    "DataError",
    "Dataset",
    "LabelReader",
    "TestSamples",
    "hash_split",
    "load_dataset",
    "load_test_samples",
]
