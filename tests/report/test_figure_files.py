import io
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from hiercos.report import write_curve_figure, write_figures
from hiercos.report.drawing import Drawing, Raster, Stroke, Text, palette_png, rectangle

DRAWING = Drawing(
    100,
    50,
    [
        rectangle((0, 0), 20, 10, "#ff0000"),
        Stroke([(0, 30), (100, 30)], "series-1", 2, (4, 2)),
        Text(50, 45, "a <b> ∑", anchor="middle"),
        Raster(60, 0, 20, 20, np.array([[0, 1], [1, 0]], dtype=np.uint8), ["#000000", "#00ff00"]),
    ],
    "A test",
)


def test_figures_are_written_under_their_names_as_valid_svg_of_their_size(tmp_path: Path) -> None:
    written = write_figures({"a": DRAWING, "b": DRAWING}, tmp_path / "figures")
    assert [path.name for path in written] == ["a.svg", "b.svg"]
    for path in written:
        root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        assert (root.get("width"), root.get("height")) == ("100", "50")
        assert [child.tag.rpartition("}")[2] for child in root] == ["title", "polygon", "polyline", "text", "image"]


def test_a_palette_png_is_read_back() -> None:
    image_module = pytest.importorskip("PIL.Image")
    pixels = np.array([[0, 1, 2], [2, 1, 0]], dtype=np.uint8)
    image = image_module.open(io.BytesIO(palette_png(pixels, ["#000000", "#112233", "#ffffff"])))
    assert np.asarray(image).tolist() == pixels.tolist()
    assert image.convert("RGB").getpixel((1, 0)) == (0x11, 0x22, 0x33)


def test_the_figure_has_a_line_for_each_rule_and_needs_nothing_from_the_network(tmp_path: Path) -> None:
    rows = [
        {"rule": rule, "coverage": at, "precision": 1 - at / 4, "precision_low": 0.7, "precision_high": 1.0}
        for rule in ("back-off", "<b>majority")
        for at in (1.0, 0.5, 0.75)
    ]
    assert write_curve_figure(rows, tmp_path / "curve.html") == f"The figure is {tmp_path / 'curve.html'}."
    text = (tmp_path / "curve.html").read_text()
    assert "&lt;b&gt;majority" in text
    assert 'stroke-width="2.2"' in text
    assert text.count('stroke-width="1.2"') == 6  # an interval for each point
    assert "http" not in text
