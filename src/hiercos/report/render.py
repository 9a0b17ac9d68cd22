"""Templates of the report and of model cards; texts are escaped in templates of HTML."""

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from hiercos.report.drawing import Drawing, svg


def render(template: str, **values: Any) -> str:
    """The text of a file in the folder `templates`, filled with values."""
    return _environment().get_template(template).render(**values)


def asset(name: str) -> str:
    """The text of a file in the folder `assets`, the style sheet or the script of the report."""
    return (files("hiercos.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("hiercos.report"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals["asset"] = lambda name: Markup(asset(name))
    made.filters |= {"svg": _in_page, "anchor": _anchor}
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return made


def _in_page(drawing: Drawing) -> Markup:
    return Markup(svg(drawing, in_page=True))


def _anchor(title: str) -> str:
    """Id of the section with a title."""
    return "section-" + "-".join("".join(sign if sign.isalnum() else " " for sign in title.lower()).split())
