"""Loading of trained weights: safetensors files, folders and the Hugging Face Hub; imports of optional libraries."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from hiercos.encoders.backbones.table import BackboneError


def import_extra(module: str, *, extra: str, backbone: str) -> ModuleType:
    """Import a module of an optional library.

    Args:
        module: name of the module, such as "timm".
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or module).partition(".")[0]
        raise BackboneError(f"backbone {backbone!r} needs {missing}: pip install 'hiercos[{extra}]'") from error


OWN = "backbone."  # prefix of the backbone's tensors in the file of a model
MOST_NAMES = 5  # tensor names listed in one message


def check_weights_source(name: str, weights: str | None, *, pretrained: bool, bundled: bool = False) -> None:
    """Check, before anything is built, that `weights` and `pretrained` agree.

    Args:
        name: name of the backbone.
        weights: .safetensors file from the user, or None.
        pretrained: whether trained weights are requested.
        bundled: whether the backbone has trained weights without a file; False by default.
    """
    if pretrained and weights is None and not bundled:
        raise BackboneError(
            f"backbone {name!r} comes without trained weights; give weights=FILE.safetensors, or pretrained=False "
            "(--set from_scratch=true) to start from random ones"
        )
    if weights is not None and not pretrained:
        raise BackboneError(f"backbone {name!r}: weights={weights!r} and pretrained=False exclude each other")


def load_weights(module: nn.Module, path: str, *, classifier: str) -> None:
    """Load a module's weights from a file; no tensor may be missing, unknown or of another shape."""
    state = {name: value for name, value in read_weights(path).items() if not name.startswith(f"{classifier}.")}
    fill(module, state, source=path)


def read_weights(path: str) -> dict[str, Tensor]:
    """Read the tensors of a safetensors file, by name; of a model's file those of its backbone."""
    from safetensors.torch import load_file

    if Path(path).suffix != ".safetensors":
        raise BackboneError(
            f"{path}: expected weights in a .safetensors file, since pickles (.pth, .pt, .bin) can run code; convert "
            "with safetensors.torch.save_file(torch.load(FILE, weights_only=True), NEW_FILE)"
        )
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise BackboneError(f"{path}: cannot be read as safetensors: {error}") from error
    own = {name.removeprefix(OWN): tensor for name, tensor in tensors.items() if name.startswith(OWN)}
    return own or tensors


def fill(module: nn.Module, state: Mapping[str, Tensor], *, source: str) -> None:
    """Copy named tensors into a module.

    The counters of batch norms may be missing, as in older files; they are left unchanged then.
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
        raise BackboneError([f"{source}: the weights belong to another architecture", *faults])
    module.load_state_dict(state, strict=False)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


FILES = ["*.json", "*.safetensors", "*.txt", "*.model"]  # configuration, weights and vocabularies; never a pickle
OTHER_FORMATS = ["onnx/*", "openvino/*"]


def model_folder(model: str, *, extra: str, backbone: str) -> Path:
    """Folder of a model, downloaded if necessary."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder
    hub = import_extra("huggingface_hub", extra=extra, backbone=backbone)
    try:
        return Path(hub.snapshot_download(model, allow_patterns=FILES, ignore_patterns=OTHER_FORMATS))
    except (OSError, ValueError) as error:
        raise BackboneError(
            f"backbone {backbone!r}: there is no folder {model!r}, and it cannot be loaded from the Hugging Face Hub "
            f"({first_line(error)}); download it on a machine with a network, and pass the folder"
        ) from error


def load_transformer(folder: Path, *, extra: str, pretrained: bool, backbone: str) -> tuple[Any, bool]:
    """Load a transformers model in float32; also returns whether its pooling layer has weights.

    transformers initialises a pooling layer without weights at random, such as that of a ViT trained as a classifier.

    Args:
        folder: folder with config.json and, if pretrained, weights as safetensors.
        pretrained: whether to load the weights; False draws them at random.
    """
    transformers = import_extra("transformers", extra=extra, backbone=backbone)
    with quiet_transformers(transformers), loading_errors(backbone, folder):
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        check_config(config, backbone)
        if not pretrained:
            model = transformers.AutoModel.from_config(config, dtype=torch.float32, trust_remote_code=False)
            return model, True
        model, notes = transformers.AutoModel.from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,  # never asked on standard input, never run
            output_loading_info=True,
        )
    missing = sorted(notes["missing_keys"])
    if others := [key for key in missing if not key.startswith("pooler.")]:
        raise BackboneError(f"backbone {backbone!r}: {folder} has no weights for {', '.join(others)}")
    return model, not missing


def check_config(config: Any, backbone: str) -> None:
    """Raise a `BackboneError` for a model that takes both images and texts, or has a decoder."""
    if "vision_config" in config.sub_configs:
        raise BackboneError(
            f"backbone {backbone!r}: expected a model of images or of texts, got {config.model_type}, which takes both"
        )
    if config.is_encoder_decoder:
        raise BackboneError(
            f"backbone {backbone!r}: expected a model without a decoder after its encoder, got {config.model_type}"
        )


@contextmanager
def quiet_transformers(transformers: Any) -> Iterator[None]:
    """Silence transformers: no progress bar while loading weights, no report about ignored classifier weights."""
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
def loading_errors(backbone: str, folder: Path) -> Iterator[None]:
    """Convert errors of transformers about a bad folder to a `BackboneError` of one sentence."""
    try:
        yield
    except BackboneError:
        raise
    except Exception as error:  # a stranger's folder can make a library raise anything
        raise BackboneError(f"backbone {backbone!r}: {folder} cannot be loaded: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """First line of an error's message, without its full stop."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
