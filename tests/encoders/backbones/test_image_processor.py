import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from encoders.backbones.photos import noise
from hiercos.encoders.backbones import BackboneError, ImageTransform
from hiercos.encoders.backbones.preprocessing import image_transform, read_image_transform

HALF = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "do_normalize": True}
GREY = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
PROCESSORS = [
    ("ViTImageProcessorPil", {}),
    ("ConvNextImageProcessorPil", {"size": {"shortest_edge": 224}}),
    ("ConvNextImageProcessorPil", {"size": {"shortest_edge": 384}}),
    ("BitImageProcessorPil", {"size": {"shortest_edge": 256}}),
    ("CLIPImageProcessorPil", {}),
    ("DeiTImageProcessorPil", {}),
    ("PoolFormerImageProcessorPil", {}),
    ("ViTImageProcessorPil", {"rescale_factor": 1 / 127.5}),
    ("ViTImageProcessorPil", {"do_normalize": False}),
]


@pytest.mark.parametrize(("name", "changes"), PROCESSORS)
@pytest.mark.parametrize(("width", "height"), [(300, 200), (181, 433)])
def test_it_does_what_the_library_does(name: str, changes: dict[str, Any], width: int, height: int) -> None:
    processor = getattr(pytest.importorskip("transformers"), name)(**changes)
    transform = image_transform(json.loads(processor.to_json_string()), where="here")
    image = smooth(width, height)
    theirs = torch.as_tensor(np.asarray(processor(image)["pixel_values"]))
    ours = transform([image])
    assert ours.shape == theirs.shape
    spread = float(theirs.max() - theirs.min())
    # theirs rounds the cut down after resizing, ours to the nearest pixel: they may lie one pixel apart
    assert float((ours - theirs).abs().mean()) < 0.006 * spread
    if transform.fit == "squash" and transform.crop_share == 1:
        torch.testing.assert_close(ours, theirs.to(ours.dtype), atol=1e-4, rtol=1e-4)


def smooth(width: int, height: int) -> Any:
    return noise(6, 6).resize((width, height), resample=3)


@pytest.mark.parametrize(
    ("settings", "transform"),
    [
        (
            {"feature_extractor_type": "ViTFeatureExtractor", "size": 224, "resample": 2},
            ("squash", 224, 1.0, "bilinear"),
        ),
        (
            {"feature_extractor_type": "CLIPFeatureExtractor", "size": 224, "crop_size": 224, "do_center_crop": True},
            ("crop", 224, 1.0, "bilinear"),
        ),
        (
            {"feature_extractor_type": "DeiTFeatureExtractor", "size": 256, "crop_size": 224, "do_center_crop": True},
            ("squash", 224, 0.875, "bilinear"),
        ),
        (
            {"feature_extractor_type": "ConvNextFeatureExtractor", "size": 224, "crop_pct": 0.875, "resample": 3},
            ("crop", 224, 0.875, "bicubic"),
        ),
    ],
)
def test_configurations_of_earlier_years_are_read(settings: dict[str, Any], transform: tuple[Any, ...]) -> None:
    fit, size, share, interpolation = transform
    expected = ImageTransform(size, *GREY, fit, share, interpolation)
    assert image_transform({**HALF, **settings}, where="here") == expected


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"size": 224, "do_pad": True}, "preprocessing is not supported .*do_pad"),
        ({"size": 224, "do_resize": False}, "preprocessing is not supported"),
        ({"size": 224, "image_processor_type": "LevitImageProcessor"}, "preprocessing is not supported .LevitImage"),
        ({"size": {"height": 224, "width": 192}}, "size: expected a square, got {'height': 224, 'width': 192}"),
        ({}, "size: expected a square, got None"),
        ({"size": {"shortest_edge": 224}}, "expected a common shape for all images"),
        ({"size": 224, "do_center_crop": True, "crop_size": 256}, "crop_size: expected at most the size of 224 pixels"),
        ({"size": 224, "resample": 5}, "resample: expected one of 0, 1, 2, 3, got 5"),
        ({"size": 224, "image_mean": 0.5}, "image_mean: expected one number for each of three channels, got 0.5"),
    ],
)
def test_what_it_cannot_do_is_said(settings: dict[str, Any], fault: str) -> None:
    with pytest.raises(BackboneError, match=f"^here: .*{fault}"):
        image_transform({**HALF, **settings}, where="here")


def test_the_settings_may_stand_within_those_of_a_processor(tmp_path: Path) -> None:
    (tmp_path / "processor_config.json").write_text(json.dumps({"image_processor": {**HALF, "size": 64}}))
    assert read_image_transform(tmp_path, backbone="b") == ImageTransform(64, *GREY, interpolation="bilinear")


def test_a_folder_that_does_not_say_how_is_refused(tmp_path: Path) -> None:
    (tmp_path / "processor_config.json").write_text(json.dumps({"processor_class": "CLIPProcessor"}))
    with pytest.raises(BackboneError, match=r"^backbone 'b': .* has no preprocessor_config.json"):
        read_image_transform(tmp_path, backbone="b")
