"""Backbones: modules from preprocessed images or texts to features, with their preprocessing.

The base class, a backbone with a stem, any `nn.Module` as a backbone, and the registry: names, and prefixes such as
`timm:` for all models of a library.
"""

import hashlib
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Protocol, get_type_hints

import torch
from torch import Tensor, nn

from hiercos.errors import FaultsError
from hiercos.options import option_faults
from hiercos.registry import Registry

BackboneKind = Literal["images", "texts"]


class BackboneError(FaultsError):
    """An unknown backbone, an unknown option, weights that do not fit, or a missing extra."""


class Preprocess(Protocol):
    """Function from samples to the batch that `Backbone.forward` takes; small and picklable, to run in workers."""

    def __call__(self, samples: Sequence[Any]) -> Any:
        """PIL images or texts to a tensor, such as (B, 3, S, S), or a dict of tensors."""

    def to_dict(self) -> dict[str, Any]:
        """All settings that determine the result, as JSON values: part of the cache key, and stored with a model."""


class Backbone(nn.Module, ABC):
    """A feature extractor with the preprocessing of raw samples.

    Args:
        kind: type of the samples, "images" or "texts".
        num_features: width F of the features.
        preprocess: function from samples to the batch that `forward` takes.

    Attributes:
        name: name given by the user, such as "resnet-50" or "timm:resnet18"; set by `load_backbone`.
        options: options of `load_backbone` except the file of weights: `load_backbone(name, pretrained=False,
            **options)` builds the same architecture again, ready for `load_state_dict`.

    Shape:
        batch: output of `preprocess` for B samples. Output: (B, F).
    """

    def __init__(self, kind: BackboneKind, num_features: int, preprocess: Preprocess) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.options: dict[str, Any] = {}
        self.kind: BackboneKind = kind
        self.num_features = num_features
        self.preprocess = preprocess

    @abstractmethod
    def forward(self, batch: Any) -> Tensor:
        """A preprocessed batch to features, shape (B, F)."""

    def identity(self) -> dict[str, Any]:
        """All that determines the features, as JSON values: name, options, preprocessing and a hash of the weights."""
        return {
            "name": self.name,
            "options": self.options,
            "preprocessing": self.preprocess.to_dict(),
            "weights": weights_hash(self.state_dict()),
        }


def weights_hash(state: Mapping[str, Tensor]) -> str:
    """SHA-256 of named tensors, independent of their device and memory format.

    Example:
        >>> weights_hash({"bias": torch.zeros(2)})[:16]
        'ba0b67743bc9545b'
    """
    digest = hashlib.sha256()
    for name, value in sorted(state.items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        flat = value.detach().cpu().contiguous().flatten()
        digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()


class StemBackbone(Backbone):
    """A backbone followed by a linear projection, which trains at the backbone's learning rate.

    The published stem is a 1x1 convolution without bias, average pooling and batch norm. Pooling and a 1x1
    convolution commute, so the convolution is a linear map of the pooled features here: the same result
    at a fraction of the cost. The batch norm is the first layer of `TransformationModule`.

    Args:
        backbone: backbone with F features, each the mean of a feature map.
        width: width of the projection; as published, N for Hier-COS and C for the other methods.
        normal: whether to draw the projection from N(0, 2 / width), as published with WideResNet; by default it is
            uniform within 1 / sqrt(F), as published with ResNet-50.

    Shape:
        batch: input of the backbone. Output: (B, width).
    """

    def __init__(self, backbone: Backbone, width: int, *, normal: bool = False) -> None:
        if width < 1:
            raise ValueError(f"expected a stem of at least 1 feature, got {width}")
        super().__init__(backbone.kind, width, backbone.preprocess)
        self.backbone = backbone
        self.projection = nn.Linear(backbone.num_features, width, bias=False)
        if normal:
            nn.init.normal_(self.projection.weight, std=math.sqrt(2 / width))

    def forward(self, batch: Any) -> Tensor:
        """A preprocessed batch to projected features, shape (B, width)."""
        features: Tensor = self.projection(self.backbone(batch))
        return features


class ModuleBackbone(Backbone):
    """Your own module as a backbone.

    It is called with the output of `preprocess` and must return a tensor: features (B, F), or feature maps of shape
    (B, F, height, width), which are averaged. If a library's model returns another object, wrap it in a module that
    returns the tensor.

    Args:
        module: the module, trained or not; it is not copied.
        num_features: width F of the features; found by a forward pass of a blank sample by default.
        kind: type of the samples, "images" (default) or "texts".
        preprocess: function from samples to the module's input, such as `ImageTransform(224)`.

    Shape:
        batch: output of `preprocess` for B samples. Output: (B, F).

    Raises:
        BackboneError: if the module returns anything else.

    Example:
        >>> from hiercos.nn.backbones import ImageTransform
        >>> convolution = nn.Conv2d(3, 8, kernel_size=3)
        >>> ModuleBackbone(convolution, preprocess=ImageTransform(32)).num_features
        8
    """

    def __init__(
        self,
        module: nn.Module,
        num_features: int | None = None,
        kind: BackboneKind = "images",
        *,
        preprocess: Preprocess,
    ) -> None:
        if num_features is None:
            num_features = probed_num_features(module, preprocess([blank_sample(kind)]))
        super().__init__(kind, num_features, preprocess)
        self.name = f"{type(module).__module__}.{type(module).__qualname__}"
        self.module = module

    def forward(self, batch: Any) -> Tensor:
        """A preprocessed batch to features, shape (B, F)."""
        return pooled(self.module(batch), self.name)

    def identity(self) -> dict[str, Any]:
        """The identity of every backbone and the module's repr, since different modules may have equal weights."""
        return {**super().identity(), "module": repr(self.module)}


def pooled(output: Any, name: str) -> Tensor:
    """Features (B, F) unchanged, feature maps averaged to (B, F).

    Raises:
        BackboneError: for anything but a tensor of two or four dimensions.
    """
    if not isinstance(output, Tensor):
        raise BackboneError(f"{name}: expected a tensor of features, got an object of type {type(output).__name__}")
    if output.ndim not in (2, 4):
        shape = tuple(output.shape)
        raise BackboneError(f"{name}: expected features (B, F) or maps (B, F, height, width), got the shape {shape}")
    return output.mean(dim=(2, 3)) if output.ndim == 4 else output  # (B, F)


def blank_sample(kind: BackboneKind) -> Any:
    """A sample to probe a backbone: a grey image or a word."""
    if kind == "texts":
        return "blank"
    from PIL import Image

    return Image.new("RGB", (64, 64), (128, 128, 128))


def probed_num_features(module: nn.Module, batch: Any) -> int:
    """Width F of the features, found by one call in evaluation mode; training modes are restored afterwards."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        with torch.no_grad():
            output = module(_on_device_of(module, batch))
    finally:
        for part in training:
            part.training = True
    return pooled(output, type(module).__qualname__).shape[1]


def _on_device_of(module: nn.Module, batch: Any) -> Any:
    """The batch moved to the device of the module's first parameter."""
    parameter = next(module.parameters(), None)
    if parameter is None:
        return batch
    if isinstance(batch, Mapping):
        return {name: value.to(parameter.device) for name, value in batch.items()}
    return batch.to(parameter.device)


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
