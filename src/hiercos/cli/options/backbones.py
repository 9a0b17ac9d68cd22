"""Options of the backbone for images and texts that several commands share."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiercos.cli.options.common import TrustBackbone, Workers, check_backbone_name, named_values
from hiercos.cli.options.groups import OptionError, is_first_process

if TYPE_CHECKING:
    from lightning_fabric import Fabric

    from hiercos.data import Dataset
    from hiercos.engine import FineTuningData, PreparedData

TFIDF = "tfidf"
BESIDE = f"{TFIDF}+"  # before the name of a backbone of texts, whose features stand beside TF-IDF vectors
TRAINED_WITH_HEAD = ("ngrams",)  # backbones without trained weights that need no --unfreeze
DEFAULT_BACKBONES = {"images": "efficientnet-lite0", "texts": TFIDF}  # vectors need none


def includes_tfidf(name: str) -> bool:
    """Whether a name for --backbone stands for TF-IDF vectors, alone or beside the features of a backbone."""
    return name == TFIDF or name.startswith(BESIDE)


@dataclass(frozen=True)
class BackboneOptions:
    """Options of the backbone that computes features of images or texts."""

    backbone: Annotated[
        str | None,
        typer.Option(
            help="Backbone of images or texts: a name, a prefix and a model such as timm:MODEL, or tfidf+NAME.",
            show_default="efficientnet-lite0 for images, tfidf for texts",
        ),
    ] = None
    backbone_option: Annotated[
        list[str] | None, typer.Option(help="Option of the backbone, as name=value, such as size=160; repeatable.")
    ] = None
    workers: Workers = 0
    trust_backbone: TrustBackbone = False

    def check_name(self) -> None:
        """Raise for an unknown backbone, before the data are read."""
        if self.backbone is not None and self.backbone != TFIDF:
            check_backbone_name(self.backbone.removeprefix(BESIDE))
        self.options()  # raises for options that are not name=value

    def name_for(self, dataset: "Dataset") -> str | None:
        """The backbone for a data set; None for vectors."""
        if dataset.kind == "vectors" and self.backbone is not None:
            raise OptionError(f"--backbone {self.backbone}: {dataset.source} holds vectors, which need no backbone")
        if dataset.kind == "images" and self.backbone and includes_tfidf(self.backbone):
            raise OptionError(f"--backbone {self.backbone}: expected a backbone of images for {dataset.source}")
        name = self.backbone or DEFAULT_BACKBONES.get(dataset.kind)
        if name in (None, TFIDF) and self.backbone_option:
            raise OptionError(f"--backbone-option {self.backbone_option[0]}: expected --backbone NAME with it")
        return name

    def options(self) -> dict[str, Any]:
        """The options of the backbone."""
        return named_values(self.backbone_option, "--backbone-option")

    def prepared(self, fabric: "Fabric", dataset: "Dataset", *, dim: int) -> "PreparedData":
        """The data set as vectors: features of a frozen backbone, `dim` TF-IDF features, or its own vectors."""
        from hiercos.cli.display.row_progress import row_progress
        from hiercos.engine import ReadConfig, frozen_encoder, prepare, prepare_embedded, prepare_joined

        name = self.name_for(dataset)
        if name in (None, TFIDF):
            prepared = prepare(dataset, dim=dim, trust_backbone=self.trust_backbone)
            if is_first_process():
                typer.echo("".join(f"{note}\n" for note in prepared.notes), err=True, nl=False)
            return prepared
        encoder = frozen_encoder(str(name).removeprefix(BESIDE), self.options())
        config = ReadConfig(fabric, workers=self.workers, callback=row_progress(dataset.kind, "embedding"))
        if str(name).startswith(BESIDE):
            return prepare_joined(config, dataset, encoder, dim=dim)
        return prepare_embedded(config, dataset, encoder)


@dataclass(frozen=True)
class FineTuningOptions(BackboneOptions):
    """Options of a backbone that is frozen or fine-tuned."""

    unfreeze: Annotated[
        bool, typer.Option("--unfreeze/--freeze", help="Fine-tune the backbone, or keep it frozen.")
    ] = False
    from_scratch: Annotated[
        bool, typer.Option("--from-scratch", help="With --unfreeze, start from random weights.")
    ] = False
    backbone_lr: Annotated[
        float | None,
        typer.Option(
            min=0, help="With --unfreeze, peak learning rate of the backbone.", show_default="a tenth of --lr"
        ),
    ] = None
    augment: Annotated[
        str | None,
        typer.Option(
            help="With --unfreeze, augmentation of training images: none, pad-crop or resized-crop.",
            show_default="pad-crop",
        ),
    ] = None

    @property
    def fine_tunes(self) -> bool:
        """Whether the backbone is trained with the head."""
        return self.unfreeze or self.backbone in TRAINED_WITH_HEAD

    def settings(self, dataset: "Dataset") -> dict[str, Any]:
        """Settings of `TrainConfig` for a fine-tuned backbone; empty if it is frozen."""
        given = {"--from-scratch": self.from_scratch, "--backbone-lr": self.backbone_lr, "--augment": self.augment}
        if not self.fine_tunes:
            for option, value in given.items():
                if value not in (None, False):
                    raise OptionError(f"{option}: expected --unfreeze with it")
            return {}
        usual = "pad-crop" if dataset.kind == "images" else "none"
        return {"backbone_learning_rate": self.backbone_lr, "augment": self.augment or usual}

    def run_data(self, fabric: "Fabric", dataset: "Dataset", *, dim: int) -> "PreparedData | FineTuningData":
        """The data set as vectors if the backbone is frozen, else with its original inputs."""
        if not self.fine_tunes:
            return self.prepared(fabric, dataset, dim=dim)
        from hiercos.engine import ReadConfig, prepare_fine_tuning
        from hiercos.nn.backbones import BACKBONES

        name, options = self.name_for(dataset), self.options()
        if name is None or includes_tfidf(name):
            raise OptionError(f"--unfreeze: expected --backbone NAME with weights to train for these {dataset.kind}")
        pretrained = not self.from_scratch and (BACKBONES.comes_trained(name) or "weights" in options)
        config = ReadConfig(fabric, workers=self.workers)
        return prepare_fine_tuning(config, dataset, name, options, pretrained=pretrained)
