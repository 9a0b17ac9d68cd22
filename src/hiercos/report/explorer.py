"""Values of the part of a report in which the answers of one variant are explored; its script shows them."""

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from hiercos.evaluation import Analysis, Mistake


def explorer_values(analysis: Analysis) -> dict[str, Any]:
    """The values of an analysis as JSON knows them."""
    taxonomy, nodes, answers = analysis.taxonomy, analysis.nodes, analysis.answers
    return {
        "variant": analysis.variant,
        "reference": analysis.reference,
        "names": taxonomy.names,
        "parents": taxonomy.parents.tolist(),
        "leaves": taxonomy.leaves.tolist(),
        "support": nodes.support.tolist(),
        **{name: _rounded(getattr(nodes, name), 4) for name in ("accuracy", "severity", "gain")},
        "rows": answers.rows.tolist(),
        "labels": answers.labels.tolist(),
        "answers": answers.nodes.tolist(),
        "probabilities": _rounded(answers.probabilities, 3),
        "mistakes": [_mistake(each) for each in analysis.mistakes],
        "suspects": [_mistake(each) for each in analysis.suspected_labels],
        "pairs": [asdict(each) for each in analysis.pairs],
        "inputs": analysis.inputs,
    }


def _mistake(mistake: Mistake) -> dict[str, Any]:
    return {
        **asdict(mistake),
        "probabilities": {node: round(share, 4) for node, share in mistake.probabilities.items()},
    }


def _rounded(values: Iterable[float], digits: int) -> list[float | None]:
    return [None if math.isnan(value) else round(float(value), digits) for value in values]
