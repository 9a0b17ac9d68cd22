"""The registry of backbones: names, and prefixes such as `timm:` for all models of a library."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_type_hints

from hiercos.nn.backbones.backbone import Backbone, BackboneError
from hiercos.options import option_faults
from hiercos.registry import Registry

BackboneBuilder = Callable[..., Backbone]


class BackboneRegistry(Registry[BackboneBuilder]):
    """Functions that build a backbone, by name; an unknown name is an error that suggests the nearest one.

    A function takes `pretrained` and its options by keyword and returns the backbone; its docstring describes it.
    """

    def __init__(self) -> None:
        super().__init__("backbone", BackboneError, entry_points="hiercos.backbones")
        self._prefixes: dict[str, BackboneBuilder] = {}
        self._untrained: set[str] = set()

    def register(self, name: str, *, trained: bool = True) -> Callable[[BackboneBuilder], BackboneBuilder]:
        """Decorate a function (*, pretrained, options…) -> Backbone.

        Args:
            name: name of the backbone, such as "resnet-50".
            trained: whether it comes with trained weights (default); if not, the user provides a file or trains it.
        """
        if not trained:
            self._untrained.add(name)
        return super().register(name)

    def register_prefix(self, prefix: str) -> Callable[[BackboneBuilder], BackboneBuilder]:
        """Decorate a function (model, *, pretrained, options…) -> Backbone.

        Args:
            prefix: prefix without its colon: "timm" matches every name that starts with "timm:", and the function gets
                the rest of the name.
        """

        def add(build: BackboneBuilder) -> BackboneBuilder:
            self._prefixes[prefix] = build
            return build

        return add

    @property
    def prefixes(self) -> dict[str, BackboneBuilder]:
        """Registered prefixes, without their colon."""
        return dict(self._prefixes)

    def __getitem__(self, name: str) -> BackboneBuilder:
        prefix, colon, model = name.partition(":")
        if colon and model and prefix in self._prefixes:
            return partial(self._prefixes[prefix], model)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        prefix, _, model = str(name).partition(":")
        return (bool(model) and prefix in self._prefixes) or super().__contains__(name)

    def names(self) -> list[str]:
        """Registered names, then the form of the names with each prefix."""
        return [*self, *(f"{prefix}:MODEL" for prefix in self._prefixes)]

    def comes_trained(self, name: str) -> bool:
        """Whether a backbone has trained weights without a file from the user."""
        return name not in self._untrained

    def options(self, name: str) -> dict[str, object]:
        """Options of a backbone with their defaults."""
        parameters = inspect.signature(self[name]).parameters.values()
        keywords = {option.name: option.default for option in parameters if option.kind is option.KEYWORD_ONLY}
        return {option: default for option, default in keywords.items() if option != "pretrained"}

    def check_options(self, name: str, options: Mapping[str, object]) -> None:
        """Raise a `BackboneError` that names every unknown option and every value of a wrong type."""
        build = self[name]
        kinds = get_type_hints(build.func if isinstance(build, partial) else build)
        if faults := option_faults(f"backbone {name!r}", options, kinds, self.options(name)):
            raise BackboneError(faults)

    def summary(self, name: str) -> str:
        """First line of a backbone's docstring."""
        build = self[name]
        return (inspect.getdoc(build.func if isinstance(build, partial) else build) or "").partition("\n")[0]


BACKBONES = BackboneRegistry()


def load_backbone(name: str, *, pretrained: bool = True, **options: Any) -> Backbone:
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
