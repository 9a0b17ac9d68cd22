import io
import re
import zlib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from hiercos.report import FigureError, write_curve_figure, write_figures
from hiercos.report.drawing import Drawing, Raster, Stroke, Text, palette_png, rectangle
from hiercos.report.figure_files import PIXELS, dashes, pdf_file, png_file, svg_file

DRAWING = Drawing(
    100,
    50,
    [
        rectangle((0, 0), 20, 10, "#ff0000"),
        Stroke([(0, 30), (100, 30)], "series-1", 2, (4, 2)),
        Text(50, 45, "a (b) \\ é ∑", anchor="middle"),
        Raster(60, 0, 20, 20, np.array([[0, 1], [1, 0]], dtype=np.uint8), ["#000000", "#00ff00"]),
    ],
    "A test",
)


def test_an_svg_file_is_valid_xml_of_its_size() -> None:
    root = ElementTree.fromstring(svg_file(DRAWING))
    assert (root.get("width"), root.get("height")) == ("100", "50")
    assert [child.tag.rpartition("}")[2] for child in root] == ["title", "polygon", "polyline", "text", "image"]


def test_a_pdf_has_its_objects_where_its_table_says() -> None:
    file = pdf_file(DRAWING)
    start = int(re.search(rb"startxref\n(\d+)\n", file)[1])  # type: ignore[index]
    assert file[start : start + 4] == b"xref"
    places = [int(place) for place in re.findall(rb"^(\d{10}) 00000 n", file[start:], flags=re.MULTILINE)]
    assert len(places) == 7
    for number, place in enumerate(places, start=1):
        assert file[place:].startswith(b"%d 0 obj" % number)
    painted = zlib.decompress(file.rpartition(b"stream\n")[0].rpartition(b"stream\n")[2])
    assert b"1.000 0.000 0.000 rg 0.00 50.00 m 20.00 50.00 l" in painted  # the origin is at the bottom
    assert b"(a \\(b\\) \\\\ \xe9 ?) Tj" in painted


def test_a_png_has_its_pixels_where_the_drawing_says() -> None:
    image_module = pytest.importorskip("PIL.Image")
    image = image_module.open(io.BytesIO(png_file(DRAWING)))
    assert image.size == (100 * PIXELS, 50 * PIXELS)
    assert image.getpixel((5 * PIXELS, 5 * PIXELS)) == (255, 0, 0)
    assert image.getpixel((65 * PIXELS, 5 * PIXELS)) == (0, 0, 0)
    assert image.getpixel((75 * PIXELS, 5 * PIXELS)) == (0, 255, 0)
    assert image.getpixel((40 * PIXELS, 20 * PIXELS)) == (255, 255, 255)


def test_a_palette_png_is_read_back() -> None:
    image_module = pytest.importorskip("PIL.Image")
    pixels = np.array([[0, 1, 2], [2, 1, 0]], dtype=np.uint8)
    image = image_module.open(io.BytesIO(palette_png(pixels, ["#000000", "#112233", "#ffffff"])))
    assert np.asarray(image).tolist() == pixels.tolist()
    assert image.convert("RGB").getpixel((1, 0)) == (0x11, 0x22, 0x33)


def test_dashes_go_round_corners() -> None:
    assert dashes([(0, 0), (3, 0), (3, 3)], (4, 1)) == [[(0, 0), (3.0, 0.0), (3.0, 1.0)], [(3.0, 2.0), (3.0, 3.0)]]


@pytest.mark.parametrize("form", ["svg", "pdf", "png"])
def test_figures_are_written_under_their_names(form: str, tmp_path: Path) -> None:
    written = write_figures({"a": DRAWING, "b": DRAWING}, tmp_path / "figures", form)
    assert [path.name for path in written] == [f"a.{form}", f"b.{form}"]
    assert all(path.stat().st_size > 100 for path in written)


def test_an_unknown_form_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(FigureError, match="expected svg, pdf or png"):
        write_figures({"a": DRAWING}, tmp_path / "figures", "gif")
    assert list(tmp_path.iterdir()) == []


def test_png_without_pillow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(FigureError, match=r"hiercos\[report\]"):
        write_figures({"a": DRAWING}, tmp_path / "figures", "png")


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
