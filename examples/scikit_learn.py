"""Our classifier as a scikit-learn estimator: in a pipeline, a grid search and cross-validation, scored by HOPS.

python examples/scikit_learn.py
"""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline

from hiercos import HierarchicalClassifier
from hiercos.data import load_dataset
from hiercos.sklearn import HierarchicalScorer, hops_scorer

data = load_dataset("icd10cm:3,8")  # phrases of two chapters of ICD-10-CM
t, texts = data.taxonomy, np.array(data.inputs)
labels = np.array(t.ids)[t.leaves[data.labels]]  # codes such as D57; names or paths would do as well
train, test = data.rows("train"), data.rows("test")

flat = Pipeline([("words", TfidfVectorizer()), ("classifier", LogisticRegression(max_iter=200))])
scorer = HierarchicalScorer("hops", t)  # any classifier can be scored; it only has to be told of the tree
found = cross_val_score(flat, texts[train], labels[train], scoring=scorer, cv=2)
print(f"logistic regression: HOPS {found.mean():.3f}")

ours = HierarchicalClassifier(t, options={"effort": "quick"}, random_state=0)  # "normal", the default, is more accurate
model = Pipeline([("words", TfidfVectorizer()), ("classifier", ours)])
search = GridSearchCV(model, {"classifier__rule": ["none", "hops"]}, scoring=hops_scorer, cv=2)
search.fit(texts[train], labels[train])
print(f"ours: HOPS {search.best_score_:.3f} with {search.best_params_}")

best = search.best_estimator_
top1, hops = best.score(texts[test], labels[test]), search.score(texts[test], labels[test])
print(f"test top-1 {top1:.3f}  HOPS {hops:.3f}")
phrase = ["sickle-cell anemia with crisis"]
(path,) = best["classifier"].predict_path(best["words"].transform(phrase))
print(f"{phrase[0]!r}: {best.predict(phrase)[0]}, {' > '.join(path)}, {best.predict_proba(phrase).max():.0%}")
