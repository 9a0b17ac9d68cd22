"""A plain PyTorch training loop: our head, loss, scores and metrics on the features of any model.

python examples/pytorch_loop.py
"""

import torch

from hiercos import HierCOSHead, HierCOSLoss
from hiercos.data import load_dataset
from hiercos.geometry import leaf_scores, level_scores
from hiercos.metrics import default_suite
from hiercos.training import Settings, features_of

torch.manual_seed(0)
phrases = features_of(load_dataset("icd10cm:3,8"))  # of two chapters, as sparse vectors
data = phrases.for_method(Settings("hier-cos", dim=128))  # (M, 128)
t, train, val, test = data.taxonomy, data.samples("train"), data.samples("val"), data.samples("test")

head, loss = HierCOSHead(128, t, width=256, dropout=0.1), HierCOSLoss(t, alpha=0.05)
optimizer = torch.optim.AdamW(head.parameters(), lr=3e-3)


@torch.no_grad()
def figures(samples) -> dict[str, torch.Tensor]:
    """Every metric of a split."""
    suite = default_suite(t)
    suite.update(leaf_scores(head.eval()(samples.features), t), samples.labels)
    return suite.compute()


for epoch in range(1, 6):
    head.train()
    for rows in torch.randperm(len(train)).split(64):
        step = loss(head(train.features[rows]), train.labels[rows])  # (B, N), one coordinate per node, to a scalar
        optimizer.zero_grad()
        step.backward()
        optimizer.step()
    found = figures(val)
    print(f"epoch {epoch}  loss {step:.3f}  val top-1 {found['top1']:.3f}  val HOPS {found['hops']:.3f}")

found = figures(test)
print(f"test top-1 {found['top1']:.3f}  HOPS {found['hops']:.3f}  mistake severity {found['mistake_severity']:.2f}")
chapters = level_scores(head(test.features), t, level=1).argmax(dim=1)  # any level has scores of its own
print(f"{data.dataset.inputs[data.dataset.rows('test')[0]]!r} is of the chapter {t.names[chapters[0]]!r}")
