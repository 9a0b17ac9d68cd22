"""A Lightning module around our head, loss and metrics.

pip install pytorch-lightning; python examples/lightning_module.py
"""

import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from hiercos import HierCOSHead, HierCOSLoss, Taxonomy
from hiercos.data import load_dataset
from hiercos.geometry import leaf_scores
from hiercos.metrics import HOPS, TopKAccuracy
from hiercos.training import Features, Settings, features_of


class HierarchicalModule(pl.LightningModule):
    """Features to classes of a taxonomy; put your backbone before the head to train it, too."""

    def __init__(self, in_features: int, taxonomy: Taxonomy) -> None:
        super().__init__()
        self.taxonomy = taxonomy
        self.head, self.loss = HierCOSHead(in_features, taxonomy, width=256), HierCOSLoss(taxonomy)
        self.metrics = nn.ModuleDict({"top1": TopKAccuracy(taxonomy), "hops": HOPS(taxonomy)})

    def training_step(self, batch: list[Tensor]) -> Tensor:
        """The loss of a batch."""
        return self.loss(self.head(batch[0]), batch[1])

    def validation_step(self, batch: list[Tensor]) -> None:
        """Count a batch; Lightning logs the metrics at the end of the epoch, over all processes."""
        scores = leaf_scores(self.head(batch[0]), self.taxonomy)  # (B, C)
        for name, metric in self.metrics.items():
            metric.update(scores, batch[1])
            self.log(name, metric)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """As in any other module."""
        return torch.optim.AdamW(self.parameters(), lr=3e-3)


def loader(data: Features, split: str) -> DataLoader:
    """Batches of a split."""
    samples = data.samples(split)
    return DataLoader(TensorDataset(samples.features, samples.labels), 64, shuffle=split == "train")


pl.seed_everything(0, verbose=False)
phrases = features_of(load_dataset("icd10cm:3,8"))  # of two chapters, as sparse vectors
data = phrases.for_method(Settings("hier-cos", dim=128))  # (M, 128)
quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
trainer = pl.Trainer(max_epochs=5, accelerator="cpu", **quiet)
module = HierarchicalModule(128, data.taxonomy)
trainer.fit(module, loader(data, "train"), loader(data, "val"))
(found,) = trainer.validate(module, loader(data, "test"), verbose=False)
print(f"test top-1 {found['top1']:.3f}  HOPS {found['hops']:.3f}")
