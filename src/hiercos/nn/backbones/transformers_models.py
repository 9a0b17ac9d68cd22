"""The prefix `transformers:`: a model of images or of texts, whichever its configuration says."""

from pathlib import Path

from torch import nn

from hiercos.nn.backbones.backbone import Backbone, BackboneError
from hiercos.nn.backbones.extras import import_extra
from hiercos.nn.backbones.hub import faults_named, load_model, model_folder, quiet
from hiercos.nn.backbones.image_processor import read_image_transform
from hiercos.nn.backbones.registry import BACKBONES
from hiercos.nn.backbones.tokens import Tokens, longest_input
from hiercos.nn.backbones.transformers_images import Pooling, TransformersImages
from hiercos.nn.backbones.transformers_texts import TransformersTexts


@BACKBONES.register_prefix("transformers")
def transformers_model(model: str, *, pretrained: bool = True, pooling: Pooling | None = None) -> Backbone:
    """A model of images or texts of transformers, from a folder or the Hugging Face Hub.

    Args:
        model: a folder, or a name on the Hub.
        pretrained: False draws the weights at random; the folder is needed all the same.
        pooling: without it, a model of images uses its own pooling where it has one and the mean over patches
            otherwise, and a model of texts the mean over tokens.
    """
    name = f"transformers:{model}"
    folder = model_folder(model, extra="transformers", backbone=name)
    loaded, pooler_usable = load_model(folder, extra="transformers", pretrained=pretrained, backbone=name)
    if pooling == "pooler" and not pooler_usable:
        raise BackboneError(f"backbone {name!r}: expected pooling to be 'cls' or 'mean', as the pooler has no weights")
    backbone: TransformersImages | TransformersTexts
    if loaded.main_input_name == "pixel_values":
        transform = read_image_transform(folder, backbone=name)
        backbone = TransformersImages(loaded, transform, pooling or (None if pooler_usable else "mean"))
    elif loaded.main_input_name == "input_ids":
        backbone = text_backbone(loaded, folder, pooling or "mean", extra="transformers", backbone=name)
    else:
        raise BackboneError(
            f"backbone {name!r}: expected a model that takes pixel_values or input_ids, got {loaded.main_input_name}"
        )
    backbone.options = {"pooling": backbone.pooling}
    return backbone


def text_backbone(
    model: nn.Module,
    folder: Path,
    pooling: Pooling,
    *,
    extra: str,
    backbone: str,
    max_length: int | None = None,
    normalize: bool = False,
) -> TransformersTexts:
    """A loaded model of texts as a backbone, with the tokenizer of its folder."""
    transformers = import_extra("transformers", extra=extra, backbone=backbone)
    with quiet(transformers), faults_named(backbone, folder):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    tokens = Tokens(tokenizer, max_length or longest_input(tokenizer, model.config))
    return TransformersTexts(model, tokens, pooling, normalize=normalize)
