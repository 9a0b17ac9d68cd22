"""A stranger's model folder runs no code, asks nothing, and names nothing to be loaded without the user's consent."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from colours import TREE
from encoders.backbones import tiny_models
from folders import resealed
from hiercos.data import load_dataset
from hiercos.encoders.backbones import BackboneError
from hiercos.encoders.encoder import check_backbone_source, frozen_encoder
from hiercos.methods import Model
from hiercos.model import Classifier, ModelError
from hiercos.storage import opened
from hiercos.taxonomy.formats import taxonomy_to_dict
from hiercos.training import features_of


def model_naming(folder: Path, **backbone: Any) -> Path:
    """A model of images whose configuration names another backbone."""
    encoder = frozen_encoder("efficientnet-lite0", {"size": 32})
    Classifier(Model(TREE, encoder.backbone.num_features, "cross-entropy").eval(), encoder).save(folder)
    return resealed(folder, backbone={**opened(folder).config["backbone"], **backbone})


@pytest.mark.parametrize(
    "backbone",
    [
        {"name": "transformers:/some/folder"},
        {"name": "transformers:someone/model"},
        {"name": "sentence-transformers:someone/model"},
        {"name": "timm:hf-hub:someone/model"},
        {"name": "timm:hf-hub:someone/model", "in_folder": True},
        {"name": "timm:resnet18"},
        {"name": "onnx:/some/file.onnx"},
        {"name": "vit", "options": {"weights": "/some/file.safetensors"}},
    ],
)
def test_a_configuration_that_names_something_to_load_is_refused_without_trust(
    tmp_path: Path, backbone: dict[str, Any]
) -> None:
    folder = model_naming(tmp_path / "m", **backbone)
    with pytest.raises(ModelError, match=r"would be loaded from a path or the Hub; expected --trust-backbone"):
        Classifier.load(folder)


def test_a_trusted_configuration_is_loaded() -> None:
    check_backbone_source("efficientnet-lite0", {"size": 32}, from_file=False)
    check_backbone_source("timm:resnet18", {}, from_file=True)  # the name of an architecture
    with pytest.raises(BackboneError, match="would be loaded"):
        check_backbone_source("timm:resnet18", {}, from_file=False)


def test_features_that_name_a_path_are_used_as_vectors_without_trust(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.savez(
        tmp_path / "f.npz",
        features=rng.normal(size=(60, 4)),
        labels=np.arange(60) % TREE.num_classes,
        taxonomy=np.array(json.dumps(taxonomy_to_dict(TREE))),
        backbone=np.array(json.dumps({"name": "transformers:/tmp/evil", "options": {}})),
    )
    prepared = features_of(load_dataset(tmp_path / "f.npz"))
    assert prepared.encoder is None
    assert "would be loaded from a path or the Hub" in prepared.notes[0]


def test_a_folder_with_code_is_refused_and_asks_nothing_on_standard_input(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder, mark = tmp_path / "bert", tmp_path / "mark"
    folder.mkdir()
    tiny_models.bert(folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Mine", "AutoModel": "mine.Mine"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text(f"open({str(mark)!r}, 'w').close()\nclass Mine: pass\n")
    code = (
        "import sys; from hiercos.encoders.backbones import BackboneError, load_backbone\n"
        "try: load_backbone(sys.argv[1])\n"
        "except BackboneError as error: print(error)\n"
        "print('next', sys.stdin.readline().strip())"
    )
    command = [sys.executable, "-c", code, f"transformers:{folder}"]
    done = subprocess.run(command, input="y\n", capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.splitlines()[-1] == "next y"  # nobody read the answer
    assert "cannot be loaded" in done.stdout
    assert not mark.exists()


def test_a_sentence_model_may_not_name_classes_of_other_libraries(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    from hiercos.encoders.backbones.sentence_models import reject_foreign_modules

    (tmp_path / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": "antigravity.fly"}]))
    with pytest.raises(BackboneError, match=r"expected classes of sentence_transformers, got 'antigravity\.fly'"):
        reject_foreign_modules(tmp_path, backbone="any")
