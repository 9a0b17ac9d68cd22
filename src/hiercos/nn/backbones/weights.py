"""Trained weights from a safetensors file into a backbone."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

from torch import Tensor, nn

from hiercos.nn.backbones.backbone import BackboneError


def import_extra(module: str, *, extra: str, backbone: str) -> ModuleType:
    """A module of an optional library.

    Args:
        module: its name, such as "timm".
        extra: of hiercos, which installs the library with all that it needs.
        backbone: as the user wrote it, for the message.

    Raises:
        BackboneError: if the library, or one that it imports in turn, is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or module).partition(".")[0]
        raise BackboneError(f"backbone {backbone!r} needs {missing}: pip install 'hiercos[{extra}]'") from error


MOST_NAMES = 5  # of tensors, in one message


def check_source(name: str, weights: str | None, *, pretrained: bool, bundled: bool = False) -> None:
    """Refuse, before anything is built, to be without the weights that are asked for or with those that are not.

    Args:
        name: of the backbone.
        weights: a .safetensors file of the user.
        pretrained: whether trained weights are asked for.
        bundled: whether the backbone has some without a file.

    Raises:
        BackboneError: if there is no file and there must be one, or the reverse.
    """
    if pretrained and weights is None and not bundled:
        raise BackboneError(
            f"backbone {name!r} comes without trained weights; give weights=FILE.safetensors, or pretrained=False to "
            "start from random ones"
        )
    if weights is not None and not pretrained:
        raise BackboneError(f"backbone {name!r}: weights={weights!r} and pretrained=False exclude each other")


def load_weights(module: nn.Module, path: str, *, classifier: str) -> None:
    """Fill a module from a file, in which nothing may be missing, left over or of another shape.

    Args:
        module: with the file's names of tensors.
        path: a .safetensors file.
        classifier: the name of the layer after the features; its tensors in the file are left out.

    Raises:
        BackboneError: for a file that is no safetensors file, or that holds the tensors of another architecture.
    """
    state = {name: value for name, value in read_weights(path).items() if not name.startswith(f"{classifier}.")}
    fill(module, state, source=path)


def read_weights(path: str) -> dict[str, Tensor]:
    """The tensors of a safetensors file by name.

    Raises:
        BackboneError: if it is not there or something else.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if Path(path).suffix != ".safetensors":
        raise BackboneError(
            f"{path}: expected weights in a .safetensors file, since pickles (.pth, .pt, .bin) can run code; convert "
            "with safetensors.torch.save_file(torch.load(FILE, weights_only=True), NEW_FILE)"
        )
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise BackboneError(f"{path}: cannot be read as safetensors: {error}") from error


def fill(module: nn.Module, state: Mapping[str, Tensor], *, source: str) -> None:
    """Copy named tensors into a module.

    Counters of batch norms, which older files lack, stay as they are where they are absent.

    Raises:
        BackboneError: naming the first tensors that are missing, left over or of another shape.
    """
    own = module.state_dict()
    needed = {name for name in own if not name.endswith(".num_batches_tracked")}
    shapes = [
        f"{name} {tuple(value.shape)} for {tuple(own[name].shape)}"
        for name, value in state.items()
        if name in own and value.shape != own[name].shape
    ]
    wrong = {"missing": sorted(needed - state.keys()), "unknown": sorted(state.keys() - own), "other shape": shapes}
    faults = [f"{source}: {what}: {_listed(names)}" for what, names in wrong.items() if names]
    if faults:
        raise BackboneError([f"{source}: the weights are of another architecture", *faults])
    module.load_state_dict(state, strict=False)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
