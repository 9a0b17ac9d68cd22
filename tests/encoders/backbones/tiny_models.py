"""Folders with tiny models of transformers, their weights drawn at random, as a user would have them on disk."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

transformers = pytest.importorskip("transformers")

SIZE, PATCH, WIDTH = 32, 8, 16
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "cat", "dog", "sleeps", "runs", "car", "red", "about"]
IMAGES = {
    "image_processor_type": "ViTImageProcessor",
    "do_resize": True,
    "size": {"height": SIZE, "width": SIZE},
    "resample": 2,
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.25, 0.25, 0.25],
}


def vit_config(**changes: Any) -> Any:
    sizes = {"hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    return transformers.ViTConfig(**sizes, image_size=SIZE, patch_size=PATCH, **changes)


def vit(folder: Path) -> Any:
    """A ViT with a trained pooling layer."""
    return saved(transformers.ViTModel(vit_config()), folder, IMAGES)


def vit_classifier(folder: Path) -> Any:
    """A ViT that was trained as a classifier: its folder has no weights for a pooling layer."""
    return saved(transformers.ViTForImageClassification(vit_config(num_labels=3)), folder, IMAGES)


def resnet(folder: Path) -> Any:
    """A ResNet: maps of 24 channels, no tokens."""
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 24], depths=[1, 1], layer_type="basic")
    settings = {**IMAGES, "image_processor_type": "ConvNextImageProcessor", "size": 28, "crop_pct": 0.875}
    return saved(transformers.ResNetModel(config), folder, settings)


def bert(folder: Path) -> Any:
    """A BERT with a vocabulary of a dozen words."""
    sizes = {"hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(**sizes, vocab_size=len(WORDS), max_position_embeddings=12, pad_token_id=0)
    tokenizer().save_pretrained(folder)
    return saved(transformers.BertModel(config), folder)


def tokenizer() -> Any:
    """One token for each known word, between [CLS] and [SEP]."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=10, **special)


def saved(model: Any, folder: Path, images: dict[str, Any] | None = None) -> Any:
    """The model in evaluation mode, after it was written to a folder with the settings of its images."""
    with torch.no_grad():  # biases start at zero, which would hide a layer that is left out
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) / 10)
    model.save_pretrained(folder)
    if images is not None:
        (folder / "preprocessor_config.json").write_text(json.dumps(images))
    return model.eval()
