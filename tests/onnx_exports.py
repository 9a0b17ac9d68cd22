"""Models of every kind as ONNX graphs. Torch takes a second for each, so the tests share them."""

from functools import cache, partial
from typing import Any, NamedTuple

import torch

from blobs import blob_data, cloud
from colours import TREE, colour_data, small_backbone
from docstrings import docstring_data
from hiercos import Taxonomy
from hiercos.data import Inputs, load_dataset
from hiercos.decisions import rule
from hiercos.encoders.encoder import FrozenEncoder, TfidfEncoder
from hiercos.encoders.tfidf import TextFeatures
from hiercos.methods import Model, Projection, csr_tensor
from hiercos.model import Classifier
from hiercos.onnx.export import OnnxExport, export_onnx
from hiercos.training import Features, Settings, train
from trees import TOY17

TEXTS = ("red car", "red cat", "blue car", "blue dog", "green dog", "a red truck")


class Exported(NamedTuple):
    """A model and what was made of it."""

    stored: Classifier
    export: OnnxExport


def seen(model: Model, features: torch.Tensor) -> Model:
    """The model with the statistics of some features, so that none of its layers is the identity."""
    model.standardize.fit(features)
    with torch.no_grad():
        model.train()(features)
    return model.eval()


def untrained(tree: Taxonomy, features: torch.Tensor, method: str, **options: Any) -> Model:
    """A model of these features, its weights drawn from a seed."""
    torch.manual_seed(0)
    return seen(Model(tree, features.shape[1], method, options), features)


@cache
def of_vectors() -> Exported:
    """A model that the rule `hops` speaks for."""
    model = untrained(TOY17, cloud(TOY17, 34)[0], "path-softmax", width=64)
    return _exported(Classifier(model, None, rule("auto"), 0.8))


@cache
def of_energies() -> Exported:
    """A model of Hier-COS, whose energies explain its answers."""
    model = untrained(TOY17, cloud(TOY17, 34)[0], "hier-cos", width=32)
    return _exported(Classifier(model, None, rule("none"), 0.8))


@cache
def of_evidence() -> Exported:
    """A model of Hier-COS whose probabilities come from divergences, with a fitted factor."""
    model = untrained(TOY17, cloud(TOY17, 34)[0], "hier-cos", width=32, reading="shares", alpha=0.0)
    model.evidence.factor.fill_(0.3)
    return _exported(Classifier(model, None, rule("none"), 0.4))


@cache
def of_texts() -> Exported:
    """A model behind TF-IDF, under the rule `crm`."""
    texts = TextFeatures.fit(TEXTS)
    vectors = texts.transform(TEXTS)
    projection = Projection.fit(vectors, dim=4, seed=0)
    model = untrained(TREE, projection(csr_tensor(vectors)), "cross-entropy")
    model.projection = projection
    return _exported(Classifier(model, TfidfEncoder(texts), rule("crm"), 1.5))


@cache
def of_images() -> Exported:
    """A model behind a frozen backbone, without a rule."""
    backbone = small_backbone().eval()
    model = untrained(TREE, torch.randn(40, 6, generator=torch.Generator().manual_seed(1)), "hier-cos", width=8)
    return _exported(Classifier(model, FrozenEncoder(backbone)))


def _exported(stored: Classifier) -> Exported:
    return Exported(stored, export_onnx(stored))


def trained_default(name: str) -> tuple[Classifier, Inputs]:
    """The default method, trained in seconds, and the inputs of its data."""
    makers = {"icd10cm": partial(load_dataset, "icd10cm:8"), "docstrings": docstring_data, "images": _frozen_features}
    data = makers.get(name, partial(blob_data, TOY17, 340))()
    stored = train(data, Settings("committee", effort="quick")).classifier
    return stored, (data.dataset if isinstance(data, Features) else data).inputs


def _frozen_features() -> Features:
    backbone, data = small_backbone().eval(), colour_data(160)
    with torch.no_grad():
        features = backbone(backbone.preprocess(data.inputs.values(range(160))))
    return Features(data, features, FrozenEncoder(backbone))
