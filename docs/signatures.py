"""Extensions of the reference: arguments of functions made by `ranking_metric`, and doctests as code."""

import re
from typing import Any

from griffe import Extension, Function, Object, Parameter, ParameterKind, Parameters

TAKEN = {"scores": "Tensor", "labels": "Tensor", "taxonomy": "Taxonomy"}  # in place of the ranking


class RankingMetrics(Extension):
    """Replaces the argument `ranking` of decorated functions."""

    def on_function_instance(self, *, func: Function, **_: Any) -> None:
        """Change the parameters of a function."""
        if any("ranking_metric" in str(decorator.value) for decorator in func.decorators):
            kind = ParameterKind.positional_or_keyword
            taken = [Parameter(name, annotation=annotation, kind=kind) for name, annotation in TAKEN.items()]
            func.parameters = Parameters(*taken, *[each for each in func.parameters if each.name != "ranking"])


class Doctests(Extension):
    """Names the section of examples as griffe expects it; otherwise `>>>` would be quotations within quotations."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub("^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
