"""Trained weights from a safetensors file into a backbone."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from safetensors import SafetensorError
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


FILES = ["*.json", "*.safetensors", "*.txt", "*.model"]  # configuration, weights and vocabularies; never a pickle
OTHER_FORMATS = ["onnx/*", "openvino/*"]


def model_folder(model: str, *, extra: str, backbone: str) -> Path:
    """The folder of a model.

    Args:
        model: a folder, or a name on the Hub, which is downloaded once, with a progress bar, to the Hub's own cache.
        extra: of hiercos, for the message where huggingface_hub is missing.
        backbone: as the user wrote it, for messages.

    Raises:
        BackboneError: if there is no such folder and the Hub cannot be reached or has no such model.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder
    hub = import_extra("huggingface_hub", extra=extra, backbone=backbone)
    try:
        return Path(hub.snapshot_download(model, allow_patterns=FILES, ignore_patterns=OTHER_FORMATS))
    except (OSError, ValueError) as error:
        raise BackboneError(
            f"backbone {backbone!r}: there is no folder {model!r}, and the Hugging Face Hub gives no such model "
            f"({first_line(error)}); download it where there is a network, and name the folder"
        ) from error


def load_model(folder: Path, *, extra: str, pretrained: bool, backbone: str) -> tuple[Any, bool]:
    """A model of transformers in float32, and whether its pooling layer can be used.

    A pooling layer without weights is left at random by transformers: that of a ViT which was trained as a classifier.

    Args:
        folder: with config.json and, where pretrained, weights as safetensors.
        pretrained: False draws the weights at random.
        backbone: as the user wrote it, for messages.

    Raises:
        BackboneError: if the folder has no usable model, lacks weights of any other layer, or has a model of images and
            texts at once or one with a decoder.
    """
    transformers = import_extra("transformers", extra=extra, backbone=backbone)
    with quiet(transformers), faults_named(backbone, folder):
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        check_config(config, backbone)
        if not pretrained:
            return transformers.AutoModel.from_config(config, dtype=torch.float32), True
        model, notes = transformers.AutoModel.from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,
            local_files_only=True,
            use_safetensors=True,
            output_loading_info=True,
        )
    missing = sorted(notes["missing_keys"])
    if others := [key for key in missing if not key.startswith("pooler.")]:
        raise BackboneError(f"backbone {backbone!r}: {folder} has no weights for {', '.join(others)}")
    return model, not missing


def check_config(config: Any, backbone: str) -> None:
    """Raise a `BackboneError` for a model that does not take images alone, or texts alone."""
    if "vision_config" in config.sub_configs:
        raise BackboneError(
            f"backbone {backbone!r}: expected a model of images or of texts, got {config.model_type}, which is of both"
        )
    if config.is_encoder_decoder:
        raise BackboneError(
            f"backbone {backbone!r}: expected a model without a decoder after its encoder, got {config.model_type}"
        )


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """Without transformers' bar over weights read from disk, and its report on a classifier's layer left out."""
    logging = transformers.utils.logging
    bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.set_verbosity_error()
    if bars:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def faults_named(backbone: str, folder: Path) -> Iterator[None]:
    """Turn what transformers raises for a bad folder into a `BackboneError` of one sentence."""
    try:
        yield
    except BackboneError:
        raise
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise BackboneError(f"backbone {backbone!r}: {folder} cannot be loaded: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """The first line of an error's message, without its full stop."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
