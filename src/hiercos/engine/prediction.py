"""Posteriors of a stored model for inputs without labels, streamed."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from hiercos.data import Inputs, UnlabelledInputs, kind_of
from hiercos.decisions import Decision, Posterior
from hiercos.engine.batches import VECTORS_AT_ONCE, LabelledVectors, Samples
from hiercos.engine.encoders import Reading
from hiercos.engine.evaluation import class_scores
from hiercos.engine.model_folder import StoredModel
from hiercos.errors import DataError
from hiercos.taxonomy import IntArray
