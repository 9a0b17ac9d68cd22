"""Texts, or paths to images, on the lines of standard input."""

import sys
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import ClassVar, TextIO

from hiercos.checks import TEXT_CHARACTERS, limit_fault, limited
from hiercos.data.images.collections import ImageFiles
from hiercos.data.inputs import Kind, Texts
from hiercos.data.readers.registry import STANDARD_INPUT, Reader
from hiercos.data.rows import InputBatch, Source, SourceOptions, in_batches
from hiercos.errors import DataError, HiercosWarning, listed

MOST_NAMED = 5  # blank lines that a warning names
NAME = "standard input"


class LineReader(Reader):
    """Texts, or paths to images, on the lines of standard input."""

    labelled = False
    kinds: ClassVar[tuple[Kind, ...]] = ("texts", "images")

    def takes(self, source: str) -> bool:
        """The source "-"."""
        return source == STANDARD_INPUT

    def rows(self, source: str, options: SourceOptions, kind: Kind | None) -> Source:  # noqa: ARG002
        """Texts streamed line by line, or the images at these paths, relative to the root if one is given."""
        lines = numbered_lines(sys.stdin)
        if kind == "images":
            numbers, paths = zip(*lines, strict=True)
            images = ImageFiles([Path(options.root or ".") / path for path in paths])
            return Source(NAME, "images", in_batches(InputBatch(numbers, images)), names_images=True)

        def read(size: int) -> Iterator[InputBatch]:
            while batch := list(islice(lines, size)):
                yield InputBatch([number for number, _ in batch], Texts([text for _, text in batch]))

        return Source(NAME, "texts", read, is_stream=True)


def numbered_lines(stream: TextIO) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers, as they are read; at the end a `HiercosWarning` counts the others.

    Raises:
        DataError: for text that is not UTF-8, or at the end if all lines are blank.
    """
    found, count = False, 0
    blank: list[str] = []  # the first numbers of blank lines
    most = limited(TEXT_CHARACTERS)
    try:
        for number, line in enumerate(iter(lambda: stream.readline(most + 2), ""), 1):
            if fault := limit_fault("text characters", len(line.rstrip("\r\n")), TEXT_CHARACTERS):
                raise DataError(f"{NAME}: row {number}: {fault}")
            if line.strip():
                found = True
                yield number, line.rstrip("\r\n")
            else:
                count += 1
                blank += [str(number)] * (count <= MOST_NAMED + 1)
    except UnicodeDecodeError as error:
        raise DataError(f"{NAME}: expected text in UTF-8 ({error.reason})") from error
    if not found:
        raise DataError(f"{NAME}: expected at least one line of text, got none")
    if blank:
        left_out = "1 blank line is left out, row" if count == 1 else f"{count:,} blank lines are left out, rows"
        warnings.warn(
            f"{NAME}: {left_out} {listed(blank, MOST_NAMED)}; the other rows keep their numbers",
            HiercosWarning,
            stacklevel=2,
        )
