"""Analyses of answers to random samples, for tests of reports."""

import numpy as np

from hiercos import Taxonomy
from hiercos.decisions import Posterior, rule
from hiercos.evaluation import Analysis, VariantAnswers, analyse

MARKUP = Taxonomy.from_paths(
    [
        ("pet", "cat"),
        ("pet", "<img src=x onerror=alert(1)>"),
        ("</script><b>vehicle", "car"),
        ("</script><b>vehicle", "bus"),
    ]
)


def answers(taxonomy: Taxonomy, samples: int, *, name: str, skill: float, rule_name: str = "none") -> VariantAnswers:
    """Answers to samples of random classes; the higher the skill, the more are right."""
    labels = np.random.default_rng(0).integers(taxonomy.num_classes, size=samples)
    scores = np.random.default_rng(round(100 * skill)).normal(size=(samples, taxonomy.num_classes))
    scores[np.arange(samples), labels] += skill
    return VariantAnswers(name, name, rule(rule_name), Posterior.from_scores(scores, taxonomy), labels)


def analysis(taxonomy: Taxonomy = MARKUP, samples: int = 80, *, with_inputs: bool = True) -> Analysis:
    """Analysis of a variant "hier-cos" with the reference "cross-entropy"; every input has markup in it."""
    variant = answers(taxonomy, samples, name="hier-cos", skill=1.5)
    flat = answers(taxonomy, samples, name="cross-entropy", skill=1.0)
    inputs = {row: {"name": f"text {row + 1}", "text": f"<i>input</i> {row}"} for row in range(samples)}
    return analyse(variant, [flat], reference="cross-entropy", seed=0, inputs=inputs if with_inputs else {})
