"""Checks of the names in options without the imports that the named things need; a test compares the lists."""

import sys
from collections.abc import Collection, Iterable
from importlib.metadata import entry_points

from hiercos.cli.options.groups import OptionError
from hiercos.errors import suggestion

METHODS = (
    "barz-denzler",
    "c-hmcnn",
    "conditional-softmax",
    "cross-entropy",
    "cross-entropy-mlp",
    "default",
    "flamingo-1",
    "flamingo-2",
    "flat-committee",
    "gaussian",
    "hace",
    "hafeat-1",
    "hafeat-2",
    "haframe",
    "hier-cos",
    "hxe",
    "linear-svm",
    "logistic",
    "path-softmax",
    "soft-labels",
    "tree-logistic",
    "yolo-v2",
)
AXES = ("alpha", "direction", "regulariser", "span", "exponent")
BACKBONES = ("efficientnet-lite0", "minilm", "ngrams", "resnet-50", "vit-small", "wide-resnet-28")
BACKBONE_PREFIXES = ("onnx", "sentence-transformers", "timm", "transformers")


def check_method_names(names: Iterable[str]) -> None:
    """Raise for the first unknown method; torch is imported only where another package registers methods."""
    if not _asks_registry("hiercos.methods", "hiercos.methods"):
        return _check("method", names, METHODS)
    from hiercos.methods import METHODS as REGISTRY

    for name in names:
        REGISTRY.checked_name(name)
    return None


def check_backbone_name(name: str) -> None:
    """Raise for an unknown backbone; torch is imported only where another package registers backbones."""
    if not _asks_registry("hiercos.backbones", "hiercos.nn.backbones"):
        listed = (*BACKBONES, *(f"{prefix}:MODEL" for prefix in BACKBONE_PREFIXES))
        prefix, colon, model = name.partition(":")
        return _check("backbone", [] if colon and model and prefix in BACKBONE_PREFIXES else [name], listed)
    from hiercos.nn.backbones import BACKBONES as REGISTRY

    REGISTRY[name]
    return None


def check_axis_names(names: Iterable[str]) -> None:
    """Raise for the first unknown axis of an ablation."""
    _check("axis", names, AXES)


def _asks_registry(group: str, module: str) -> bool:
    """Whether only the registry knows all names: it is imported already, or other packages register more.

    Args:
        group: group of the entry points of other packages.
        module: module of the registry.
    """
    return module in sys.modules or bool(entry_points(group=group))


def _check(kind: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise OptionError(f"unknown {kind} {name!r}{suggestion(name, known)}")
