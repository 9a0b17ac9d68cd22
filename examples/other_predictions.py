"""Evaluate somebody else's predictions: all that is needed are scores or probabilities, labels and a tree.

python examples/other_predictions.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from hiercos.data import load_dataset
from hiercos.decisions import Posterior, rule
from hiercos.evaluation import bootstrap_interval, read_scores, sample_metrics
from hiercos.metrics import functional as HF

data = load_dataset("icd10cm:3,8")  # phrases of two chapters of ICD-10-CM
t, texts, train, test = data.taxonomy, np.array(data.inputs), data.rows("train"), data.rows("test")

# Somebody else: a flat classifier that never saw the tree, and the file it left.
words = TfidfVectorizer().fit(texts[train])
other = LogisticRegression(C=10, max_iter=200).fit(words.transform(texts[train]), data.labels[train])
probabilities = other.predict_proba(words.transform(texts[test]))
with TemporaryDirectory() as folder:
    file = Path(folder, "scores.npz")
    np.savez(file, scores=probabilities, classes=other.classes_, labels=data.labels[test])
    found = read_scores(file, t)  # as `hiercos evaluate --scores scores.npz --taxonomy tree.csv`

samples = sample_metrics(found, t)
estimate = bootstrap_interval(samples.values)
for name in ("top1", "mistake_severity", "ahd_at_5", "hops", "hops_at_5", "accuracy_level_1", "accuracy_level_2"):
    column = samples.names.index(name)
    print(f"{name:17} {estimate.mean[column]:.3f} [{estimate.low[column]:.3f}, {estimate.high[column]:.3f}]")

# The same probabilities, with the classes ranked for the highest expected HOPS: nothing is trained anew.
scores, labels = torch.from_numpy(found.scores), torch.from_numpy(found.labels)
ruled = torch.from_numpy(rule("hops").ranking(Posterior(found.scores, t)))
print(f"HOPS of the same probabilities under the rule hops: {HF.hops(ruled, labels, t).mean():.3f}")
