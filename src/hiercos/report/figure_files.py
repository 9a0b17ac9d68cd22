"""Figures as files: SVG, PDF (with the fonts that every reader has) or PNG (needs Pillow), and as an HTML page."""

import importlib.util
import io
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hiercos.errors import FaultsError
from hiercos.files import write_atomically
from hiercos.report.charts import Series, line_chart
from hiercos.report.drawing import Drawing, Point, Polygon, Raster, Shape, Text, rgb, svg, text_width
from hiercos.report.explorer import figure_page
from hiercos.report.figures import Figure

if TYPE_CHECKING:
    from PIL.Image import Image

Row = Mapping[str, Any]
PIXELS = 3  # of a PNG, for each unit of a drawing


class FigureError(FaultsError):
    """Figures that cannot be written in the wanted format."""


def write_figures(drawings: Mapping[str, Drawing], folder: Path, form: str) -> list[Path]:
    """Write every drawing to a folder, which is created if missing.

    Args:
        drawings: drawings by the name of their file, without its ending.
        folder: folder to write to.
        form: "svg", "pdf" or "png".

    Returns:
        The written files.

    Raises:
        FigureError: for another format, or for PNG without Pillow.
    """
    if form not in WRITERS:
        raise FigureError(f"--figures {form}: expected svg, pdf or png")
    if form == "png" and importlib.util.find_spec("PIL") is None:
        raise FigureError("--figures png needs Pillow (pip install 'hiercos[report]'); svg and pdf need nothing")
    contents = {folder / f"{name}.{form}": WRITERS[form](drawing) for name, drawing in drawings.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in contents.items():
        write_atomically(path, content)
    return list(contents)


def svg_file(drawing: Drawing) -> bytes:
    """A drawing as an SVG file."""
    return svg(drawing, in_page=False).encode()


def pdf_file(drawing: Drawing) -> bytes:
    """A drawing as a PDF page of its size, in Helvetica; a character outside Windows-1252 becomes a question mark."""
    rasters = [shape for shape in drawing.shapes if isinstance(shape, Raster)]
    lines = [_pdf_shape(shape, drawing.height, rasters) for shape in drawing.shapes]
    names = " ".join(f"/Im{number} {number + 6} 0 R" for number in range(len(rasters)))
    box = f"[0 0 {drawing.width:.2f} {drawing.height:.2f}]"
    fonts = "/Font << /F0 4 0 R /F1 5 0 R >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox {box} >>".encode(),
        f"<< /Type /Page /Parent 2 0 R /Contents {6 + len(rasters)} 0 R "
        f"/Resources << {fonts} /XObject << {names} >> >> >>".encode(),
        *(_font(name) for name in ("Helvetica", "Helvetica-Bold")),
        *map(_pdf_image, rasters),
        _stream("", "\n".join(lines).encode("cp1252", "replace")),
    ]
    return _pdf(objects)


def _pdf(objects: list[bytes]) -> bytes:
    """Objects, the first of them the catalogue, as a PDF file with its table of positions."""
    file, starts = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, start=1):
        starts.append(len(file))
        file += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = "".join(f"{start:010d} 00000 n \n" for start in starts)
    count = len(objects) + 1
    tail = f"xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n<< /Size {count} /Root 1 0 R >>\n"
    return bytes(file) + f"{tail}startxref\n{len(file)}\n%%EOF\n".encode()


def _font(name: str) -> bytes:
    return f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode()


def _stream(entries: str, content: bytes) -> bytes:
    packed = zlib.compress(content, 9)
    head = f"<< {entries} /Filter /FlateDecode /Length {len(packed)} >>\nstream\n"
    return head.encode() + packed + b"\nendstream"


def _pdf_image(raster: Raster) -> bytes:
    rows, columns = raster.pixels.shape
    palette = "".join(f"{tone:02x}" for colour in raster.palette for tone in rgb(colour))
    space = f"/ColorSpace [/Indexed /DeviceRGB {len(raster.palette) - 1} <{palette}>]"
    kind = f"/Type /XObject /Subtype /Image /Width {columns} /Height {rows} {space} /BitsPerComponent 8"
    return _stream(kind, raster.pixels.tobytes())


def _pdf_shape(shape: Shape, height: float, rasters: list[Raster]) -> str:
    """Operators that paint a shape; the origin of a PDF page is its lower left corner."""
    if isinstance(shape, Text):
        return _pdf_text(shape, height)
    if isinstance(shape, Raster):
        number = next(number for number, raster in enumerate(rasters) if raster is shape)
        place = f"{shape.width:.2f} 0 0 {shape.height:.2f} {shape.x:.2f} {height - shape.y - shape.height:.2f}"
        return f"q {place} cm /Im{number} Do Q"
    path = " ".join(
        f"{x:.2f} {height - y:.2f} {'m' if place == 0 else 'l'}" for place, (x, y) in enumerate(shape.points)
    )
    if isinstance(shape, Polygon):
        return f"{_pdf_tone(shape.fill)} rg {path} h f"
    dash = " ".join(f"{length:.2f}" for length in shape.dash)
    return f"{_pdf_tone(shape.colour)} RG {shape.width:.2f} w [{dash}] 0 d {path} S"


def _pdf_text(shape: Text, height: float) -> str:
    back = {"start": 0.0, "middle": 0.5, "end": 1.0}[shape.anchor] * text_width(shape.text, shape.size)
    turn, x, y = ("0 1 -1 0", shape.x, shape.y + back) if shape.turned else ("1 0 0 1", shape.x - back, shape.y)
    plain = shape.text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    font = f"/F{int(shape.is_bold)} {shape.size:.2f} Tf"
    return f"BT {_pdf_tone(shape.colour)} rg {font} {turn} {x:.2f} {height - y:.2f} Tm ({plain}) Tj ET"


def _pdf_tone(colour: str) -> str:
    return " ".join(f"{tone / 255:.3f}" for tone in rgb(colour))


def png_file(drawing: Drawing) -> bytes:
    """A drawing as a PNG file, PIXELS pixels for each of its units."""
    from PIL import Image

    image = Image.new("RGB", (round(drawing.width * PIXELS), round(drawing.height * PIXELS)), "white")
    for shape in drawing.shapes:
        _png_shape(image, shape)
    stream = io.BytesIO()
    image.save(stream, "PNG", optimize=True)
    return stream.getvalue()


def _png_shape(image: "Image", shape: Shape) -> None:
    from PIL import Image, ImageDraw

    if isinstance(shape, Raster):
        small = Image.frombytes("P", shape.pixels.shape[::-1], shape.pixels.tobytes())
        small.putpalette([tone for colour in shape.palette for tone in rgb(colour)])
        size = (round(shape.width * PIXELS), round(shape.height * PIXELS))
        large = small.convert("RGB").resize(size, Image.Resampling.NEAREST)
        image.paste(large, (round(shape.x * PIXELS), round(shape.y * PIXELS)))
    elif isinstance(shape, Text):
        _png_text(image, shape)
    elif isinstance(shape, Polygon):
        ImageDraw.Draw(image).polygon([(x * PIXELS, y * PIXELS) for x, y in shape.points], fill=rgb(shape.fill))
    else:
        canvas, width = ImageDraw.Draw(image), max(round(shape.width * PIXELS), 1)
        for part in dashes(shape.points, shape.dash):
            canvas.line([(x * PIXELS, y * PIXELS) for x, y in part], fill=rgb(shape.colour), width=width, joint="curve")


def _png_text(image: "Image", shape: Text) -> None:
    """Paint a text through a mask of its own, which can be turned."""
    from PIL import Image, ImageDraw, ImageFont

    font, size = ImageFont.load_default(shape.size * PIXELS), round(shape.size * PIXELS)
    width = round(font.getlength(shape.text)) + 2
    mask = Image.new("L", (width, 2 * size))
    ImageDraw.Draw(mask).text(
        (0, 1.5 * size), shape.text, fill=255, font=font, anchor="ls", stroke_width=int(shape.is_bold)
    )
    back = round({"start": 0.0, "middle": 0.5, "end": 1.0}[shape.anchor] * width)
    x, y = round(shape.x * PIXELS), round(shape.y * PIXELS)
    if shape.turned:
        mask, corner = mask.rotate(90, expand=True), (x - round(1.5 * size), y - width + back)
    else:
        corner = (x - back, y - round(1.5 * size))
    image.paste(rgb(shape.colour), corner, mask)


def dashes(points: Sequence[Point], lengths: Sequence[float]) -> list[list[Point]]:
    """The painted parts of a dashed line; the whole line without dashes.

    Args:
        points: corners of the line.
        lengths: lengths of dashes and gaps in turn.

    Example:
        >>> dashes([(0, 0), (5, 0)], (2, 1))
        [[(0, 0), (2.0, 0.0)], [(3.0, 0.0), (5.0, 0.0)]]
    """
    if not lengths:
        return [list(points)]
    parts: list[list[Point]] = [[points[0]]]
    turn, left = 0, lengths[0]  # an even turn is painted
    for start, end in pairwise(points):
        done, whole = 0.0, math.dist(start, end)
        while whole - done > left:
            done += left
            share = done / whole
            corner = (start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))
            if turn % 2 == 0:
                parts[-1].append(corner)
            else:
                parts.append([corner])
            turn += 1
            left = lengths[turn % len(lengths)]
        left -= whole - done
        if turn % 2 == 0:
            parts[-1].append((float(end[0]), float(end[1])))
    return parts


WRITERS: dict[str, Callable[[Drawing], bytes]] = {"svg": svg_file, "pdf": pdf_file, "png": png_file}


def write_curve_figure(rows: Sequence[Row], path: Path) -> str:
    """Write the figure of `curve_rows` as one HTML file.

    Args:
        rows: operating points with `rule`, `coverage`, `precision`, `precision_low` and `precision_high`.
        path: file to write.

    Returns:
        A sentence for the user: the path of the figure.
    """
    names = list(dict.fromkeys(str(row["rule"]) for row in rows))
    drawing = line_chart(
        [_series(name, [row for row in rows if row["rule"] == name], style) for style, name in enumerate(names)],
        x_title="coverage: 1 for a class, 0 for 'cannot say'",
        y_title="precision among the answered",
    )
    figure = Figure("Precision against coverage", "Each point is an operating point with its 95% interval.", drawing)
    write_atomically(path, figure_page(figure))
    return f"The figure is {path}."


def _series(name: str, rows: Sequence[Row], style: int) -> Series:
    points = sorted(rows, key=lambda row: float(row["coverage"]))
    return Series(
        name,
        [float(row["coverage"]) for row in points],
        [float(row["precision"]) for row in points],
        [(float(row["precision_low"]), float(row["precision_high"])) for row in points],
        style=style,
    )
