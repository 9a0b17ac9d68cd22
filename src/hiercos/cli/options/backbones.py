"""Which backbone makes features of images and texts: options that several commands share."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiercos.cli.options.common import Workers, named_values
from hiercos.cli.options.groups import OptionError, is_first_process

if TYPE_CHECKING:
    from lightning_fabric import Fabric

    from hiercos.data import Dataset
    from hiercos.engine import FineTuningData, PreparedData

TFIDF = "tfidf"
USUAL = {"images": "efficientnet-lite0", "texts": TFIDF}  # where the user names none; vectors need none


@dataclass(frozen=True)
class BackboneOptions:
    """What makes features of images or texts."""

    backbone: Annotated[
        str | None,
        typer.Option(
            help="Backbone of images or texts: a name, or timm:MODEL and the like.",
            show_default="efficientnet-lite0 for images, tfidf for texts",
        ),
    ] = None
    backbone_option: Annotated[
        list[str] | None, typer.Option(help="Option of the backbone, as name=value, such as size=160; repeatable.")
    ] = None
    workers: Workers = 0

    def name_for(self, dataset: "Dataset") -> str | None:
        """The backbone for a data set; None for vectors."""
        if dataset.kind == "vectors" and self.backbone is not None:
            raise OptionError(f"--backbone {self.backbone}: {dataset.source} holds vectors, which need no backbone")
        if dataset.kind == "images" and self.backbone == TFIDF:
            raise OptionError(f"--backbone {TFIDF}: expected a backbone of images for {dataset.source}")
        name = self.backbone or USUAL.get(dataset.kind)
        if name in (None, TFIDF) and self.backbone_option:
            raise OptionError(f"--backbone-option {self.backbone_option[0]}: expected --backbone NAME with it")
        return name

    def options(self) -> dict[str, Any]:
        """The options of the backbone."""
        return named_values(self.backbone_option, "--backbone-option")

    def prepared(self, fabric: "Fabric", dataset: "Dataset", *, dim: int) -> "PreparedData":
        """The data set as vectors: those of a frozen backbone, `dim` of TF-IDF, or its own."""
        from hiercos.cli.display.row_progress import row_progress
        from hiercos.engine import ReadConfig, frozen_encoder, prepare, prepare_embedded

        name = self.name_for(dataset)
        if name in (None, TFIDF):
            prepared = prepare(dataset, dim=dim)
            if is_first_process():
                typer.echo("".join(f"{note}\n" for note in prepared.notes), err=True, nl=False)
            return prepared
        encoder = frozen_encoder(str(name), self.options())
        config = ReadConfig(fabric, workers=self.workers, callback=row_progress(dataset.kind, "embedding"))
        return prepare_embedded(config, dataset, encoder)


@dataclass(frozen=True)
class FineTuningOptions(BackboneOptions):
    """What makes features of images or texts, and whether it is trained with the rest."""

    unfreeze: Annotated[
        bool, typer.Option("--unfreeze/--freeze", help="Train the backbone, too, or leave it as it is.")
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
            help="With --unfreeze, random changes of training images: none, pad-crop or resized-crop.",
            show_default="pad-crop",
        ),
    ] = None

    def settings(self, dataset: "Dataset") -> dict[str, Any]:
        """Settings of `TrainConfig` that go with a trained backbone; none where it is frozen."""
        given = {"--from-scratch": self.from_scratch, "--backbone-lr": self.backbone_lr, "--augment": self.augment}
        if not self.unfreeze:
            for option, value in given.items():
                if value not in (None, False):
                    raise OptionError(f"{option}: expected --unfreeze with it")
            return {}
        usual = "pad-crop" if dataset.kind == "images" else "none"
        return {"backbone_learning_rate": self.backbone_lr, "augment": self.augment or usual}

    def run_data(self, fabric: "Fabric", dataset: "Dataset", *, dim: int) -> "PreparedData | FineTuningData":
        """The data set as vectors where the backbone is frozen, else as it is."""
        if not self.unfreeze:
            return self.prepared(fabric, dataset, dim=dim)
        from hiercos.engine import ReadConfig, prepare_fine_tuning
        from hiercos.nn.backbones import BACKBONES

        name, options = self.name_for(dataset), self.options()
        if name is None or name == TFIDF:
            raise OptionError(f"--unfreeze: expected --backbone NAME with weights to train for the {dataset.kind} here")
        pretrained = not self.from_scratch and (BACKBONES.comes_trained(name) or "weights" in options)
        config = ReadConfig(fabric, workers=self.workers)
        return prepare_fine_tuning(config, dataset, name, options, pretrained=pretrained)
