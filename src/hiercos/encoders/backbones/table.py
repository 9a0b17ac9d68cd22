"""Table of backbones: names, and prefixes such as `timm:` for all models of a library; needs no torch."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, get_type_hints

from hiercos.checks import option_faults
from hiercos.errors import FaultsError, suggestion
from hiercos.registry import Registry

if TYPE_CHECKING:
    from hiercos.methods import Backbone

BackboneBuilder = Callable[..., "Backbone"]


class BackboneError(FaultsError):
    """An unknown backbone, an unknown option, weights that do not fit, or a missing extra."""


class BackboneTable(Registry[BackboneBuilder]):
    """Functions that build a backbone, by name.

    A function takes `pretrained` and its options by keyword and returns the backbone; its docstring describes it. A
    row whose name ends with a colon is a prefix: its function takes the rest of a name as the first argument.
    """

    def __getitem__(self, name: str) -> BackboneBuilder:
        if name in self:
            found: BackboneBuilder = self._imported(name)
            return found
        prefix, colon, model = self.checked_name(name).partition(":")
        return partial(self._imported(prefix + colon), model)

    def checked_name(self, name: str) -> str:
        """The name of a backbone, not of a prefix alone, without importing its function."""
        prefix, colon, model = name.partition(":")
        if bool(colon) == bool(model) and prefix + colon in self:
            return name
        raise self.error(f"unknown {self.kind} {name!r}{suggestion(name, self.names())}")

    def names(self) -> list[str]:
        """Names, and the form of the names with each prefix."""
        return [f"{name}MODEL" if name.endswith(":") else name for name in self]

    def options(self, name: str) -> dict[str, object]:
        """Options of a backbone with their defaults."""
        parameters = inspect.signature(self[name]).parameters.values()
        keywords = {option.name: option.default for option in parameters if option.kind is option.KEYWORD_ONLY}
        return {option: default for option, default in keywords.items() if option != "pretrained"}

    def check_options(self, name: str, options: Mapping[str, object]) -> None:
        """Raise a `BackboneError` that names every unknown option and every value of a wrong type."""
        build = self[self.checked_name(name)]
        kinds = get_type_hints(build.func if isinstance(build, partial) else build)
        if faults := option_faults(f"backbone {name!r}", options, kinds, self.options(name)):
            raise BackboneError(faults)

    def summary(self, name: str) -> str:
        """First line of a backbone's docstring."""
        build = self[name]
        return (inspect.getdoc(build.func if isinstance(build, partial) else build) or "").partition("\n")[0]


BACKBONES = BackboneTable(
    "backbone",
    BackboneError,
    entry_points="hiercos.backbones",
    rows={
        "efficientnet-lite0": "hiercos.encoders.backbones.efficientnet_lite:efficientnet_lite0",
        "minilm": "hiercos.encoders.backbones.sentence_models:minilm",
        "resnet-50": "hiercos.paper.resnet:resnet_50",
        "wide-resnet-28": "hiercos.paper.resnet:wide_resnet_28",
        "onnx:": "hiercos.encoders.backbones.onnx_file:onnx_file",
        "sentence-transformers:": "hiercos.encoders.backbones.sentence_models:sentence_model",
        "timm:": "hiercos.encoders.backbones.timm_models:timm_model",
        "transformers:": "hiercos.encoders.backbones.transformers_models:transformers_model",
    },
)


def load_backbone(name: str, *, pretrained: bool = True, **options: Any) -> "Backbone":
    """Load a backbone by name; the options are checked first.

    Args:
        name: one of `BACKBONES`, or a prefix and a model's name: "timm:resnet18".
        pretrained: whether to load trained weights (default); False draws them from torch's global generator.
        options: option values of the backbone, by name.

    Raises:
        BackboneError: for an unknown name or option, a value of a wrong type or one that the backbone rejects,
            weights that are missing or do not fit, and a missing extra.
    """
    BACKBONES.check_options(name, options)
    try:
        backbone = BACKBONES[name](pretrained=pretrained, **options)
    except BackboneError:
        raise
    except (ValueError, TypeError) as error:
        given = ", ".join(f"{option}={value!r}" for option, value in options.items()) or "no options"
        raise BackboneError(f"backbone {name!r} with {given}: {error}") from error
    backbone.name = name
    chosen = backbone.options  # options that the builder itself has chosen
    backbone.options = {option: value for option, value in options.items() if option != "weights"} | chosen
    return backbone
