"""Uploaded tables: kept in a temporary file, checked, and answered batch by batch as the CSV of `hiercos predict`."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from hiercos.data import IMAGE, InputBatch, Source, read_inputs
from hiercos.errors import FaultsError
from hiercos.model import IN_JSON_ALONE, AnswerColumns, with_kept_columns
from hiercos.serve.limits import Limits, ServeError
from hiercos.serve.served_model import ServedModel
from hiercos.storage import csv_text

Answerer = Callable[[InputBatch], Awaitable[AnswerColumns]]
SUFFIX_OF_TYPE = {
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/jsonl": ".jsonl",
    "application/x-ndjson": ".jsonl",
    "application/vnd.apache.parquet": ".parquet",
}


@asynccontextmanager
async def uploaded_table(request: Request, suffix: str) -> AsyncIterator[Path]:
    """The body of a request as a file called `table` with an extension, for the time of the block."""
    folder = Path(await run_in_threadpool(tempfile.mkdtemp, prefix="hiercos-"))
    try:
        path = folder / f"table{suffix}"
        with path.open("wb") as file:
            async for part in request.stream():
                await run_in_threadpool(file.write, part)
        yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # no await: a cancelled request would not wait


def table_inputs(path: Path, served: ServedModel, limits: Limits, **options: Any) -> Source:
    """The inputs of an uploaded table of texts or columns; no images, since paths would name files of this machine."""
    model = served.model
    if model.kind not in ("texts", "columns") or IMAGE in (model.columns or {}).values():
        raise ServeError(422, f"this model takes {served.model.kind}: a table of texts cannot be answered")
    try:
        found = read_inputs(path, kind=model.kind, columns=model.columns, **options)
    except FaultsError as error:
        sentence = str(error).replace(str(path), path.name).replace("--input-column", "input_column")
        sentence = sentence.replace("; --on-error skip leaves such rows out", "")
        raise ServeError(422, sentence) from error
    if found.count is not None and found.count > limits.table_rows:
        raise ServeError(413, f"expected at most {limits.table_rows:,} rows, got {found.count:,} (--set table_rows)")
    return found


async def csv_rows(inputs: Source, size: int, answer: Answerer) -> AsyncIterator[bytes]:
    """The answers to all inputs as CSV, batch by batch."""
    batches, header = inputs.batches(size), True
    while (batch := await run_in_threadpool(next, batches, None)) is not None:
        columns = with_kept_columns(await answer(batch), batch)
        columns = {name: values for name, values in columns.items() if name not in IN_JSON_ALONE}
        rows = zip(*columns.values(), strict=True)
        yield csv_text([*[columns] * header, *rows]).encode()
        header = False
