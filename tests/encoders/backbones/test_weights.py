from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from hiercos.encoders.backbones import BackboneError, load_backbone

SMALL = {"size": 32, "width": 1}


def saved(folder: Path, **changes: torch.Tensor | None) -> str:
    """Weights of a small network and a classifier; tensors of other values, or none, by name."""
    torch.manual_seed(1)
    state = load_backbone("wide-resnet-28", pretrained=False, **SMALL).state_dict()
    state |= {"fc.weight": torch.zeros(5, 64), "fc.bias": torch.zeros(5)}
    state |= {name.replace("__", "."): value for name, value in changes.items()}
    path = folder / "weights.safetensors"
    save_file({name: value for name, value in state.items() if value is not None}, path)
    return str(path)


def test_weights_come_from_a_file_and_its_classifier_is_left_out(tmp_path: Path) -> None:
    path = saved(tmp_path)
    torch.manual_seed(1)
    expected = load_backbone("wide-resnet-28", pretrained=False, **SMALL)
    loaded = load_backbone("wide-resnet-28", weights=path, **SMALL)
    assert loaded.identity() == expected.identity()
    assert "weights" not in loaded.options


def test_weights_of_another_architecture_are_refused_with_the_tensors_named(tmp_path: Path) -> None:
    path = saved(tmp_path, activate__0__bias=None, activate__0__scale=torch.zeros(2), conv__weight=torch.zeros(1, 1, 3))
    with pytest.raises(BackboneError) as caught:
        load_backbone("wide-resnet-28", weights=path, **SMALL)
    assert caught.value.faults == (
        f"{path}: the weights belong to another architecture",
        f"{path}: missing: activate.0.bias",
        f"{path}: unknown: activate.0.scale",
        f"{path}: other shape: conv.weight (1, 1, 3) for (16, 3, 3, 3)",
    )


def test_only_the_first_names_are_listed(tmp_path: Path) -> None:
    with pytest.raises(BackboneError, match=r"missing: bn1.bias, .*, .*, .*, [^,]* and \d+ more"):
        load_backbone("resnet-50", weights=saved(tmp_path))


def test_counters_of_batch_norms_may_be_absent(tmp_path: Path) -> None:
    torch.manual_seed(0)
    backbone = load_backbone("wide-resnet-28", pretrained=False, width=1)
    state = {name: value for name, value in backbone.state_dict().items() if "num_batches" not in name}
    save_file(state, tmp_path / "old.safetensors")
    loaded = load_backbone("wide-resnet-28", weights=str(tmp_path / "old.safetensors"), width=1)
    assert loaded.identity()["weights"] == backbone.identity()["weights"]


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    with pytest.raises(BackboneError, match=r"model.pth: expected weights in a .safetensors file, since pickles"):
        load_backbone("resnet-50", weights=str(tmp_path / "model.pth"))


def test_a_missing_and_a_damaged_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    with pytest.raises(BackboneError, match=r"a.safetensors: cannot be read as safetensors: No such file"):
        load_backbone("resnet-50", weights=str(path))
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(BackboneError, match=r"a.safetensors: cannot be read as safetensors: "):
        load_backbone("resnet-50", weights=str(path))
