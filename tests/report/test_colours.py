"""The colours of the report have enough contrast, in light and dark, for texts and for lines."""

import re

import pytest

from hiercos.report.drawing import TONES, rgb
from hiercos.report.render import asset

LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#\w{6});", block))
    for block in re.findall(r":root \{(.*?)\}", asset("report.css"), flags=re.DOTALL)
)


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2."""
    shares = [tone / 255 for tone in rgb(colour)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour: str, other: str) -> float:
    high, low = sorted((luminance(colour), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("tones", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_and_lines_stand_out_from_the_paper(tones: dict[str, str]) -> None:
    for ground in ("paper", "raised"):
        assert min(contrast(tones[name], tones[ground]) for name in ("ink", "muted", "accent")) >= 4.5
    assert min(contrast(tones[f"series-{number}"], tones["paper"]) for number in range(1, 9)) >= 3


def test_figures_have_the_tones_of_the_light_page() -> None:
    assert {name: LIGHT[name] for name in TONES} == TONES
