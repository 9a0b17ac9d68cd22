"""Extension of the reference: functions made by `ranking_metric` are shown with the arguments that they take."""

from typing import Any

from griffe import Extension, Function, Parameter, ParameterKind, Parameters

TAKEN = {"scores": "Tensor", "labels": "Tensor", "taxonomy": "Taxonomy"}  # in place of the ranking


class RankingMetrics(Extension):
    """Replaces the argument `ranking` of decorated functions."""

    def on_function_instance(self, *, func: Function, **_: Any) -> None:
        """Change the parameters of a function."""
        if any("ranking_metric" in str(decorator.value) for decorator in func.decorators):
            kind = ParameterKind.positional_or_keyword
            taken = [Parameter(name, annotation=annotation, kind=kind) for name, annotation in TAKEN.items()]
            func.parameters = Parameters(*taken, *[each for each in func.parameters if each.name != "ranking"])
