"""Models of transformers from a folder or from the Hugging Face Hub, loaded without noise and without pickles."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from hiercos.nn.backbones.backbone import BackboneError
from hiercos.nn.backbones.weights import import_extra

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
