"""Pages and tables that the code knows, made when MkDocs builds the documentation (a hook of mkdocs.yml).

A page that is written by hand takes the place of a generated one of its name, and a line such as
`<!-- generated: metrics -->` in it is replaced by a table.
"""

import inspect
import math
import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from hiercos.cli.app import app
from hiercos.decisions import RULES
from hiercos.methods import METHODS
from hiercos.metrics.classes import metric_class
from hiercos.metrics.suite import metric_function
from hiercos.metrics.table import METRICS, MetricSpec

TITLES = {"hafeat": "HAFeat", "haframe": "HAFrame", "hace": "HACE", "hxe": "HXE", "yolo_v2": "YOLO-v2", "ndcg": "NDCG"}
TITLES |= {"c_hmcnn": "C-HMCNN", "hier_cos": "Hier-COS", "linear_svm": "Linear SVM", "barz_denzler": "Barz and Denzler"}
TRAITS = {
    "uses_tree": "learns from the tree",
    "inner_labels": "learns from labels at inner nodes",
    "label_sets": "learns from several labels of a sample",
    "graphs": "takes nodes with several parents",
    "grows": "its weights can be extended by new classes",
    "solved": "is solved from all samples at once, without gradient steps",
    "raw_inputs": "takes features as they are, dense or sparse",
}
FUNCTIONS = {  # of the pages of metrics that are not a row, or more than one function
    "average-precision": ["average_precision"],
    "calibration-error": ["calibration_error", "summed_probabilities"],
    "level-accuracy": ["level_accuracy", "level_predictions"],
    "macro-accuracy": ["macro_accuracy"],
}


def table(*rows: list[str]) -> str:
    """A table in Markdown, from its head and its rows."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], ["---"] * len(rows[0]), *rows[1:]])


def title(name: str) -> str:
    """Heading of the page of a module or metric."""
    return TITLES.get(name, re.sub("[_-]", " ", name).capitalize())


def method_modules() -> dict[str, list[str]]:
    """Names of the methods of each module, which share a page."""
    modules = defaultdict(list)
    for name in METHODS:
        modules[inspect.unwrap(METHODS[name]).__module__.rpartition(".")[2]].append(name)
    return dict(sorted(modules.items()))


def method_page(module: str, names: list[str]) -> str:
    """Page of the methods of a module: what they can, their options and their loss."""
    builders = [inspect.unwrap(METHODS[name]) for name in names]
    traits = [
        [text, *("yes" if getattr(METHODS.traits(name), key) else "no" for name in names)]
        for key, text in TRAITS.items()
    ]
    losses = sorted(name for name in vars(inspect.getmodule(builders[0])) if re.search("(?<!Entropy)Loss$", name))
    return "\n\n".join(
        [
            f"# {title(module)}",
            table(["", *(f"`{name}`" for name in names)], *traits),
            "## Options",
            *(f"::: {build.__module__}.{build.__name__}" for build in builders),
            *(f"## Loss\n\n::: hiercos.losses.{name}" for name in losses),
            "[All methods](index.md). Keys such as [sani2026] refer to `docs/references.bib`.",
        ]
    )


def metric_functions(page: str) -> list[str]:
    """Names of the functions of a metric's page."""
    specs = [spec for spec in METRICS if spec.page == page and spec.function]
    return FUNCTIONS.get(page) or list(dict.fromkeys(metric_function(spec).__name__ for spec in specs))


def metric_page(page: str) -> str:
    """Page of a metric: its rows in the table, its class and its functions."""
    specs = [spec for spec in METRICS if spec.page == page]
    classes = [f"`{spec.class_name}{_arguments(spec)}`" for spec in specs if spec.class_name and spec.source != "run"]
    made = f"Class in `hiercos.metrics`: {', '.join(dict.fromkeys(classes))}." if classes else ""
    return "\n\n".join(
        [
            f"# {title(page)}",
            *dict.fromkeys(spec.meaning for spec in specs if spec.meaning),
            metric_table(specs) if specs else "",
            made,
            *(f"::: hiercos.metrics.functional.{name}" for name in metric_functions(page)),
            "[All metrics, and what they have in common](index.md)",
        ]
    )


def _arguments(spec: MetricSpec) -> str:
    options = str(metric_class(spec).options)[1:-1]
    return f"(taxonomy{', ' + options if options else ''})"


def metric_table(specs: list[MetricSpec]) -> str:
    """The rows of metrics with their names in tables, directions, ranges and places."""
    rows = []
    for spec in specs:
        name = f"`{spec.name}_1`, `_2`, …" if spec.per_level else f"`{spec.name}`"
        highest = "H" if spec.highest is None else "∞" if math.isinf(spec.highest) else f"{spec.highest:g}"
        flags = {"suite": spec.in_suite, "results.csv": spec.in_results, "scorers": spec.in_scorers}
        places = ", ".join(place for place, there in flags.items() if there) or "class alone"
        better = "higher" if spec.higher_is_better else "lower"
        rows.append([f"[{name}]({spec.page}.md)", spec.heading, better, f"0 to {highest}", places])
    return table(["name", "heading", "better", "range", "in"], *rows)


def method_table() -> str:
    """Every method with its first sentence, its options and what it can."""
    rows = []
    for module, names in method_modules().items():
        for name in names:
            options = ", ".join(f"`{option}`" for option in METHODS.options(name))
            marks = [
                "yes" if getattr(METHODS.traits(name), key) else ""
                for key in ("uses_tree", "inner_labels", "graphs", "solved")
            ]
            rows.append([f"[`{name}`]({page_of(module)}.md)", METHODS.summary(name), *marks, options])
    return table(["name", "what it is", "tree", "inner labels", "graphs", "solved", "options"], *rows)


def search_table() -> str:
    """The search spaces of the methods."""
    rows = [
        [f"`{name}`: `{option}`", str(space)] for name in METHODS for option, space in METHODS.row(name).search.items()
    ]
    return table(["option", "drawn from"], *rows)


def rule_table() -> str:
    """The decision rules with their first sentences."""
    return table(["rule", "answers with"], *([f"[`{name}`](rules.md#{name})", _summary(RULES[name])] for name in RULES))


def rule_page() -> str:
    """Every decision rule with its parameters."""
    parts = [
        "# Rules",
        "`--rule NAME:parameter=value` and `hiercos.decisions.rule`. [Which one do I want?](decisions.md)",
    ]
    parts += [f"## {name}\n\n::: {RULES[name].__module__}.{RULES[name].__name__}" for name in RULES]
    return "\n\n".join(parts)


def _summary(item: Any) -> str:
    """First paragraph of a docstring, as one line."""
    return " ".join((inspect.getdoc(item) or "").partition("\n\n")[0].split())


def command_page() -> str:
    """Every command with its arguments and options, as in its help."""
    parts = ["# Commands", "`hiercos COMMAND --help` prints the same."]
    group: Any = typer.main.get_command(app)
    for name, command in _commands(group, "hiercos"):
        rows = [
            [f"`{_names(option)}`", _cell(option)] for option in command.params if not getattr(option, "hidden", False)
        ]
        parts += [f"## {name}", inspect.cleandoc(command.help or ""), table(["option", "meaning"], *rows)]
    return "\n\n".join(parts)


def _commands(group: Any, name: str) -> list[tuple[str, Any]]:
    if not isinstance(group, TyperGroup):
        return [(name, group)]
    context = typer.Context(group)
    each = [(child, group.get_command(context, child)) for child in group.list_commands(context)]
    return [found for child, command in each for found in _commands(command, f"{name} {child}")]


def _names(option: Any) -> str:
    return (
        option.name.upper()
        if option.param_type_name == "argument"
        else ", ".join([*option.opts, *option.secondary_opts])
    )


def _cell(option: Any) -> str:
    return " ".join((getattr(option, "help", "") or "").split()).replace("|", "\\|")


def page_of(module: str) -> str:
    """File name of a method's page, without its ending."""
    return module.replace("_", "-")


def pages() -> dict[str, str]:
    """Every generated page by its path."""
    metrics = dict.fromkeys([spec.page for spec in METRICS if spec.page] + list(FUNCTIONS))
    return {
        **{f"methods/{page_of(module)}.md": method_page(module, names) for module, names in method_modules().items()},
        **{f"metrics/{page}.md": metric_page(page) for page in sorted(metrics)},
        "commands.md": command_page(),
        "rules.md": rule_page(),
    }


TABLES: dict[str, Callable[[], str]] = {
    "methods": method_table,
    "metrics": lambda: metric_table([spec for spec in METRICS if spec.page]),
    "rules": rule_table,
    "search": search_table,
}


def on_config(config: Any) -> None:
    """Put the generated pages into the navigation, after those written by hand."""
    sections = {key: value for part in config.nav for key, value in part.items()}
    reference = {key: value for part in sections["Reference"] for key, value in part.items()}
    for folder in ("methods", "metrics"):
        known = [path for part in reference[folder.capitalize()] for path in part.values()]
        new = [path for path in pages() if path.startswith(f"{folder}/") and path not in known]
        reference[folder.capitalize()] += [{title(path.partition("/")[2][:-3].replace("-", "_")): path} for path in new]


def on_files(files: Any, config: Any) -> None:
    """Add the generated pages."""
    from mkdocs.structure.files import File  # not installed where the pages are tested

    for path, text in pages().items():
        if files.get_file_from_path(path) is None:
            files.append(File.generated(config, path, content=text))


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the tables that a page asks for."""
    return re.sub(r"<!-- generated: (\w+) -->", lambda found: TABLES[found[1]](), markdown)
