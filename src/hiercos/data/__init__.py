"""Data sets: the built-in ones, the user's own images, tables and vectors, splits and features."""

from hiercos.data.built_in import BUILT_IN, BuiltIn, data_root
from hiercos.data.dataset import Dataset
from hiercos.data.errors import DataError
from hiercos.data.holdout import TestSamples, load_test_samples
from hiercos.data.images import EncodedImages, ImageError, ImageFiles, Images, PixelImages
from hiercos.data.labels import LabelReader
from hiercos.data.sources import load_dataset
from hiercos.data.splits import hash_split

__all__ = [
    "BUILT_IN",
    "BuiltIn",
    "DataError",
    "Dataset",
    "EncodedImages",
    "ImageError",
    "ImageFiles",
    "Images",
    "LabelReader",
    "PixelImages",
    "TestSamples",
    "data_root",
    "hash_split",
    "load_dataset",
    "load_test_samples",
]
