"""Maps of values as drawings: tables of numbers as coloured pixels, and the tree as an icicle."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiercos.report.charts import WIDTH
from hiercos.report.drawing import Drawing, Raster, Shape, Text, ramp_colour, rectangle, text_width

Floats = NDArray[np.floating[Any]]


def map_chart(
    maps: Mapping[str, Floats],
    *,
    key: str,
    per_row: int = 4,
    aspect: float = 1.0,
    description: str = "",
    shared: bool = True,
) -> Drawing:
    """Tables of values as coloured maps with their titles, and the key of the colours below.

    Args:
        maps: values by title, shape (rows, columns) each; nan is grey.
        aspect: height of a map divided by its width.
        shared: whether all maps have one scale; else each has its own, and the key has no numbers.
    """
    wide = (WIDTH - 2 * 8 - (per_row - 1) * 14) / per_row
    tall = wide * aspect
    finite = np.concatenate([values[np.isfinite(values)] for values in maps.values()])
    whole = (float(finite.min(initial=0.0)), float(finite.max(initial=0.0)))
    shapes: list[Shape] = []
    for number, (title, values) in enumerate(maps.items()):
        x, y = 8 + number % per_row * (wide + 14), 24 + number // per_row * (tall + 34)
        scale = whole if shared else (float(np.nanmin(values)), float(np.nanmax(values)))
        shapes.append(Text(x, y - 7, _fitted(title, wide, 12), 12))
        shapes.append(Raster(x, y, wide, tall, shades(values, scale), PALETTE))
    bottom = 24 + math.ceil(len(maps) / per_row) * (tall + 34) - 10
    ends = f"{whole[0]:.3g} to {whole[1]:.3g}" if shared else "low to high"
    shapes += [Raster(8, bottom + 2, 160, 12, KEY, PALETTE), Text(178, bottom + 12, f"{key}, {ends}", 12)]
    return Drawing(WIDTH, bottom + 24, shapes, description)


STEPS = 64
PALETTE = (*(ramp_colour(step / (STEPS - 1)) for step in range(STEPS)), "#b9bec4")  # the last stands for nan
KEY = np.arange(STEPS, dtype=np.uint8)[None]


def shades(values: Floats, scale: tuple[float, float]) -> NDArray[np.uint8]:
    """Index of each value in `PALETTE`: from 0 at the low end of the scale to the last shade; nan is grey."""
    low, high = scale
    shares = np.clip((values - low) / (high - low if high > low else 1.0), 0, 1)
    found = np.where(np.isfinite(values), np.rint(np.nan_to_num(shares) * (STEPS - 1)), STEPS)
    return np.ascontiguousarray(found.astype(np.uint8))


def _fitted(text: str, width: float, size: float) -> str:
    """The text, cut to a width."""
    kept = text
    while kept and text_width(kept + "…", size) > width:
        kept = kept[:-1]
    return text if text_width(text, size) <= width else kept + "…"


@dataclass(frozen=True, eq=False)
class Icicle:
    """A tree as rows of bars: the children of a node are below it, each as wide as its weight."""

    names: Sequence[str]  # name of each node, parents first
    parents: NDArray[np.integer[Any]]  # parent of each node, shape (N,); -1 for the root
    weights: Floats  # weight of each node, that of its parent at most, shape (N,)
    shares: Floats  # place of each node in the ramp of colours, from 0 to 1, shape (N,); nan is grey

    def spans(self) -> tuple[Floats, Floats, NDArray[np.integer[Any]]]:
        """Start and width of each node as shares of the whole, and its level from 0, shape (N,) each."""
        count = len(self.parents)
        starts, widths, levels = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int64)
        total = float(self.weights[self.parents < 0].sum()) or 1.0
        used: dict[int, float] = {}
        for node in range(count):
            parent = int(self.parents[node])
            widths[node] = self.weights[node] / total
            starts[node] = used.get(parent, 0.0 if parent < 0 else starts[parent])
            used[parent] = starts[node] + widths[node]
            levels[node] = 0 if parent < 0 else levels[parent] + 1
        return starts, widths, levels


NARROW = 0.5  # width of a bar in units below which it is not drawn by itself


def icicle_chart(icicle: Icicle, *, describe: Callable[[int], str], key: str, description: str) -> Drawing:
    """The tree as an icicle; neighbours narrower than half a unit share a bar of their mean."""
    starts, widths, levels = icicle.spans()
    row, inner = 34.0, WIDTH - 16
    shapes: list[Shape] = []
    for node in np.flatnonzero(widths * inner >= NARROW).tolist():
        x, y, wide = 8 + starts[node] * inner, 8 + levels[node] * row, widths[node] * inner
        share = float(icicle.shares[node])
        fill = "#b9bec4" if math.isnan(share) else ramp_colour(share)
        shapes.append(rectangle((x, y), wide, row - 2, fill, describe(node)))
        if wide > 34:
            ink = "#000000" if math.isnan(share) or share > 0.55 else "#ffffff"
            shapes.append(Text(x + 4, y + 20, _fitted(icicle.names[node], wide - 8, 11), 11, colour=ink))
    shapes += _merged_bars(icicle, inner, row)
    bottom = 8 + (int(levels.max(initial=0)) + 1) * row
    shapes += [Raster(8, bottom + 6, 160, 12, KEY, PALETTE), Text(178, bottom + 16, key, 12)]
    return Drawing(WIDTH, bottom + 26, shapes, description)


def _merged_bars(icicle: Icicle, inner: float, row: float) -> list[Shape]:
    """Bars of the nodes that are too narrow to be drawn: one for each unit of a level, in the colour of their mean."""
    starts, widths, levels = icicle.spans()
    narrow = np.flatnonzero((widths > 0) & (widths * inner < NARROW))
    units = np.stack([levels[narrow], (starts[narrow] * inner).astype(np.int64)], axis=1)  # (K, 2)
    places, members, counts = np.unique(units, axis=0, return_inverse=True, return_counts=True)
    known = ~np.isnan(icicle.shares[narrow])
    weights = np.where(known, widths[narrow], 0.0)
    totals = np.bincount(members, weights, minlength=len(places))
    sums = np.bincount(members, weights * np.nan_to_num(icicle.shares[narrow]), minlength=len(places))
    shapes: list[Shape] = []
    for (level, unit), count, total, value in zip(places.tolist(), counts.tolist(), totals, sums, strict=True):
        fill = ramp_colour(float(value / total)) if total else "#b9bec4"
        shapes.append(rectangle((8 + unit, 8 + level * row), 1.0, row - 2, fill, f"{count} nodes"))
    return shapes
