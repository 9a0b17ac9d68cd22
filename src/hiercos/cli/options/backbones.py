"""Options of the backbone for images and texts that several commands share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from hiercos.cli.options.common import TrustBackbone, Workers
from hiercos.cli.options.groups import OptionError, say
from hiercos.encoders import BESIDE, DEFAULT_ENCODERS, TFIDF, includes_tfidf

if TYPE_CHECKING:
    from lightning_fabric import Fabric

    from hiercos.data import Dataset
    from hiercos.encoders import ReadConfig
    from hiercos.training import Features, RawFeatures


@dataclass(frozen=True)
class BackboneOptions:
    """Options of the backbone that computes features of images or texts."""

    panel: ClassVar = "Backbone"
    backbone: Annotated[
        str | None,
        typer.Option(
            help="Backbone of images or texts: a name, a prefix and a model such as timm:MODEL, or tfidf+NAME.",
            show_default=", ".join(f"{name} for {kind}" for kind, name in DEFAULT_ENCODERS.items()),
        ),
    ] = None
    workers: Workers = 0
    trust_backbone: TrustBackbone = False

    def check_name(self) -> None:
        """Raise for an unknown backbone, before the data are read."""
        if self.backbone is not None and self.backbone != TFIDF:
            from hiercos.encoders.backbones import BACKBONES

            BACKBONES.checked_name(self.backbone.removeprefix(BESIDE))

    def features(self, fabric: "Fabric", dataset: "Dataset", options: Mapping[str, Any]) -> "Features":
        """Features of a data set by the backbone with these options; notes about them go to stderr."""
        from hiercos.training import encoded

        reading = self.reading(fabric, dataset)
        found = encoded(dataset, reading, encoder=self.backbone, options=options, trust_backbone=self.trust_backbone)
        say(*found.notes)
        return found

    def reading(self, fabric: "Fabric", dataset: "Dataset") -> "ReadConfig":
        """Settings for reading inputs, with a progress display."""
        from hiercos.cli.display.progress import row_progress
        from hiercos.encoders import ReadConfig

        return ReadConfig(fabric, workers=self.workers, callback=row_progress(dataset.kind, "embedding"))


@dataclass(frozen=True)
class FineTuningOptions(BackboneOptions):
    """Options of a backbone that is frozen or fine-tuned."""

    unfreeze: Annotated[bool, typer.Option("--unfreeze", help="Fine-tune the backbone, which is frozen otherwise.")] = (
        False
    )

    def raw_features(
        self, fabric: "Fabric", dataset: "Dataset", options: Mapping[str, Any], *, from_scratch: bool
    ) -> "RawFeatures":
        """The original inputs of a data set, and the backbone to train on them."""
        from hiercos.encoders import ReadConfig
        from hiercos.training import encoder_name, raw_features

        name = encoder_name(dataset, self.backbone)
        if name is None or includes_tfidf(name):
            raise OptionError(f"--unfreeze: expected --backbone NAME with weights to train for these {dataset.kind}")
        config = ReadConfig(fabric, workers=self.workers)
        return raw_features(config, dataset, name, options, pretrained=not from_scratch)
