"""Figures as a few plain shapes, and their SVG: inside a page that sets the colours, or as a file of its own."""

import base64
import html
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]
# Tones on white, all with a contrast of at least 3; told apart with any colour vision, and by dash and marker too.
TONES = {
    "ink": "#1c1f23",
    "muted": "#5b636c",
    "rule": "#d5dae0",
    "paper": "#ffffff",
    "series-1": "#0072b2",
    "series-2": "#d55e00",
    "series-3": "#007a59",
    "series-4": "#a8528a",
    "series-5": "#8a6d00",
    "series-6": "#3a8fc2",
    "series-7": "#555555",
    "series-8": "#7b3fa0",
}
RAMP = ("#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838")  # dark to light, safe for colour blindness

# Widths of Helvetica's characters from space to tilde, in thousandths of the size (Adobe's font metrics).
WIDTHS = (
    *(278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, *[556] * 10, 278, 278, 584, 584),
    *(584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667),
    *(611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222),
    *(222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584),
)


@dataclass(frozen=True)
class Stroke:
    """A line through points, with a colour (a tone or #rrggbb), a width, and the lengths of dashes and gaps."""

    points: Sequence[Point]
    colour: str = "ink"
    width: float = 1.0
    dash: tuple[float, ...] = ()


@dataclass(frozen=True)
class Polygon:
    """A filled area with a thin edge of the colour of the paper; `title` is shown on hovering."""

    points: Sequence[Point]
    fill: str
    title: str = ""


@dataclass(frozen=True)
class Text:
    """A line of text at its baseline; `turned` runs it upwards."""

    x: float
    y: float
    text: str
    size: float = 12
    anchor: Anchor = "start"
    colour: str = "ink"
    is_bold: bool = False
    turned: bool = False


@dataclass(frozen=True, eq=False)
class Raster:
    """A rectangle of pixels: indices into a palette of #rrggbb, shape (rows, columns)."""

    x: float
    y: float
    width: float
    height: float
    pixels: NDArray[np.uint8]
    palette: Sequence[str]


Shape = Stroke | Polygon | Text | Raster


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure: its size, its shapes from back to front, and a sentence that says what it shows."""

    width: float
    height: float
    shapes: Sequence[Shape]
    description: str = ""


def rectangle(corner: Point, width: float, height: float, fill: str, title: str = "") -> Polygon:
    """An upright rectangle from its upper left corner."""
    x, y = corner
    return Polygon([(x, y), (x + width, y), (x + width, y + height), (x, y + height)], fill, title)


def ramp_colour(share: float, ramp: Sequence[str] = RAMP) -> str:
    """Colour of a ramp at a share from 0 (its first colour) to 1 (its last), #rrggbb.

    Example:
        >>> ramp_colour(0.0), ramp_colour(1.0), ramp_colour(0.5, ("#000000", "#ffffff"))
        ('#00224e', '#fee838', '#808080')
    """
    place = min(max(share, 0.0), 1.0) * (len(ramp) - 1)
    start = min(int(place), len(ramp) - 2)
    low, high = (rgb(ramp[start + step]) for step in (0, 1))
    mixed = [round(a + (place - start) * (b - a)) for a, b in zip(low, high, strict=True)]
    return "#" + "".join(f"{tone:02x}" for tone in mixed)


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue of a tone or of #rrggbb, 0 to 255."""
    code = TONES.get(colour, colour)
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)


def text_width(text: str, size: float) -> float:
    """Width of a text in Helvetica; a character outside ASCII counts as a digit.

    Example:
        >>> text_width("10", 10)
        11.12
    """
    return sum(WIDTHS[ord(sign) - 32] if 32 <= ord(sign) < 127 else 556 for sign in text) * size / 1000


def svg(drawing: Drawing, *, in_page: bool) -> str:
    """A drawing as SVG.

    Args:
        in_page: whether its tones are variables of a page's style sheet, for light and dark; else fixed, on white.
    """
    shapes = "".join(_svg_shape(shape, in_page) for shape in drawing.shapes)
    size = f'viewBox="0 0 {_number(drawing.width)} {_number(drawing.height)}"'
    label = html.escape(drawing.description)
    if in_page:
        return (
            f'<svg {size} role="img" aria-label="{label}" style="max-width:{_number(drawing.width)}px">{shapes}</svg>'
        )
    fixed = f'width="{_number(drawing.width)}" height="{_number(drawing.height)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {fixed} font-family="Helvetica, Arial, sans-serif">'
        f"<title>{label}</title>{shapes}</svg>\n"
    )


def _svg_shape(shape: Shape, in_page: bool) -> str:
    if isinstance(shape, Stroke):
        dash = f' stroke-dasharray="{" ".join(map(_number, shape.dash))}"' if shape.dash else ""
        paint = f'style="stroke:{_paint(shape.colour, in_page)}" stroke-width="{_number(shape.width)}"'
        return f'<polyline points="{_points(shape.points)}" fill="none" {paint}{dash}/>'
    if isinstance(shape, Polygon):
        title = f"<title>{html.escape(shape.title)}</title>" if shape.title else ""
        paint = f'style="fill:{_paint(shape.fill, in_page)};stroke:{_paint("paper", in_page)}" stroke-width="0.5"'
        return f'<polygon points="{_points(shape.points)}" {paint}>{title}</polygon>'
    if isinstance(shape, Text):
        return _svg_text(shape, in_page)
    return (
        f'<image x="{_number(shape.x)}" y="{_number(shape.y)}" width="{_number(shape.width)}" '
        f'height="{_number(shape.height)}" preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{base64.b64encode(palette_png(shape.pixels, shape.palette)).decode()}"/>'
    )


def _svg_text(shape: Text, in_page: bool) -> str:
    place = f'x="{_number(shape.x)}" y="{_number(shape.y)}" font-size="{_number(shape.size)}"'
    turn = f' transform="rotate(-90 {_number(shape.x)} {_number(shape.y)})"' if shape.turned else ""
    weight = ' font-weight="600"' if shape.is_bold else ""
    paint = f'text-anchor="{shape.anchor}" style="fill:{_paint(shape.colour, in_page)}"'
    return f"<text {place} {paint}{weight}{turn}>{html.escape(shape.text)}</text>"


def _paint(colour: str, in_page: bool) -> str:
    return colour if colour not in TONES else f"var(--{colour})" if in_page else TONES[colour]


def _points(points: Sequence[Point]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def palette_png(pixels: NDArray[Any], palette: Sequence[str]) -> bytes:
    """Palette indices, shape (rows, columns), as a PNG file."""
    rows = np.pad(pixels.astype(np.uint8), ((0, 0), (1, 0)))  # a leading 0 in each row: no filter
    size = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 3, 0, 0, 0)
    colours = bytes(tone for colour in palette for tone in rgb(colour))
    chunks = [(b"IHDR", size), (b"PLTE", colours), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")]
    written = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)
