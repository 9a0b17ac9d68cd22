"""What clients may send, as pydantic models, and the inputs and the request for answers made of it."""

from collections.abc import Sequence
from dataclasses import fields
from io import BytesIO
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request

from hiercos.data import IMAGE, INPUT_KINDS, ColumnKinds, EncodedImages, Inputs, Kind, as_inputs
from hiercos.decisions import AnswerRequest
from hiercos.errors import suggestion
from hiercos.model import BaseClassifier
from hiercos.serve.limits import Body, Limits, ServeError, fault_sentence

Probability = Annotated[float, Field(ge=0, le=1)]
Names = str | list[str]
JSON, MULTIPART = "application/json", "multipart/form-data"


class AnswerOptions(Body):
    """How to answer: the arguments of `AnswerRequest`, and how much to tell."""

    model: str | None = Field(None, description="Name of the model; the first one by default.")
    top: int | None = Field(None, ge=1, le=1000, description="Number of classes to list for each input.")
    explain: bool = Field(False, description="The reasons for each answer.")
    level_confidences: bool = Field(False, description="The probability of the node at each level.")
    rule: str | None = Field(None, description="Decision rule; that of the model by default.")
    confidence: Probability | list[Probability] | None = Field(
        None, description="Least probability of an answer, or one for each level."
    )
    target_containment: Probability | None = None
    target_precision: Probability | None = None
    max_overshoot: Annotated[float, Field(ge=0)] | None = None
    delta: Probability = 0.05
    min_level: Annotated[int, Field(ge=0)] | str = 0
    within: Names = Field([], description="Nodes that the true class is at or below one of: names, ids or paths.")
    allow: Names = Field([])
    deny: Names = Field([])

    def answer_request(self) -> AnswerRequest:
        """The request for answers; lists become tuples, so that it can be a key."""
        given: dict[str, Any] = {entry.name: getattr(self, entry.name) for entry in fields(AnswerRequest)}
        return AnswerRequest.of({name: tuple(each) if isinstance(each, list) else each for name, each in given.items()})


class JsonObject(BaseModel):
    """JSON values by name."""

    model_config = ConfigDict(extra="allow")


Cells = dict[str, str | float | bool | list[float] | None]


class PredictBody(AnswerOptions):
    """Inputs and how to answer."""

    inputs: str | list[str] | list[float] | list[list[float]] | Cells | list[Cells] = Field(
        description="One text, vector or row of columns (an object), or several; images are uploaded as "
        "multipart/form-data."
    )


AnyBody = TypeVar("AnyBody", bound=Body)


def parsed(kind: type[AnyBody], content: bytes | str) -> AnyBody:
    """A JSON body; one that does not fit is status 422, with the first fault by its place."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise ServeError(422, fault_sentence(error.errors(include_input=False), kind.model_fields)) from error


async def json_body(kind: type[AnyBody], request: Request) -> AnyBody:
    """The JSON body of a request; its content type must say so, which a form of another site cannot."""
    check_content_type(request, JSON)
    return await run_in_threadpool(parsed, kind, await request.body())


def check_content_type(request: Request, *expected: str) -> str:
    """The content type of a request, without parameters; a `ServeError` with status 415 for another one."""
    found = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if found not in expected:
        raise ServeError(415, f"expected the Content-Type {' or '.join(expected)}, got {found or 'none'}")
    return found


def checked_inputs(given: Any, model: BaseClassifier[Any], limits: Limits) -> Inputs:
    """Texts, vectors or rows of columns of a JSON body as inputs of a model."""
    kinds = model.kinds
    items: list[Any] = (
        [given] if isinstance(given, str | dict) or (given and isinstance(given[0], float | int)) else list(given)
    )
    if not 1 <= len(items) <= limits.rows:
        raise ServeError(422, f"expected 1 to {limits.rows:,} inputs in a request, got {len(items):,}")
    kind: Kind = "texts" if isinstance(items[0], str) else "columns" if isinstance(items[0], dict) else "vectors"
    if "images" in kinds and kind not in kinds:
        raise ServeError(422, f"this model takes images: expected them as {MULTIPART}, in the field 'images'")
    if kind not in kinds:
        raise ServeError(422, f"this model takes {kinds[0]}, got {kind}")
    if kind == "columns":
        return _rows_of_columns(items, model.columns or {})
    if kind == "vectors" and len({len(each) for each in items}) > 1:
        raise ServeError(422, "inputs: expected vectors of one length")
    return as_inputs(items, kind)


def _rows_of_columns(rows: Sequence[dict[str, Any]], columns: ColumnKinds) -> Inputs:
    """Rows of columns, of which any may be missing; a path of an image would name a file of this machine."""
    for place, row in enumerate(rows, 1):
        for name in row:
            if columns.get(name, IMAGE) == IMAGE:
                known = [each for each, kind in columns.items() if kind in INPUT_KINDS and kind != IMAGE]
                raise ServeError(422, f"inputs: row {place}: there is no column {name!r}{suggestion(name, known)}")
    given = {name: [row.get(name) for row in rows] for name, kind in columns.items() if kind in INPUT_KINDS}
    return as_inputs(given, "columns", columns=columns)


def uploaded_images(files: Sequence[tuple[str, bytes]], model: BaseClassifier[Any], limits: Limits) -> Inputs:
    """Uploaded images, each a name and its content, unless they have too many pixels together.

    They are decoded when their turn comes, by the thread of inference.
    """
    from PIL import Image, UnidentifiedImageError

    kinds = model.kinds
    pixels = 0
    if "images" not in kinds:
        raise ServeError(422, f"this model takes {kinds[0]}, got images")
    if not 1 <= len(files) <= limits.rows:
        raise ServeError(422, f"expected 1 to {limits.rows:,} files in the field 'images', got {len(files):,}")
    for name, content in files:
        try:
            with Image.open(BytesIO(content)) as image:
                pixels += image.width * image.height
        except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError):
            continue  # decoding says what is wrong
        if pixels > limits.pixels:
            sentence = f"images: expected at most {limits.pixels:,} pixels, got {pixels:,} up to {name} (--set pixels)"
            raise ServeError(413, sentence)
    return EncodedImages([content for _, content in files], [name for name, _ in files])


async def form_images(request: Request, limits: Limits) -> tuple[AnswerOptions, list[tuple[str, bytes]]]:
    """The options (field `request`, JSON) and the files (field `images`) of an upload."""
    async with request.form(max_files=limits.rows, max_fields=8) as form:
        given = form.get("request", "{}")
        if not isinstance(given, str):
            raise ServeError(422, "request: expected JSON, got a file")
        files = [each for each in form.getlist("images") if isinstance(each, UploadFile)]
        contents = [(each.filename or f"image {place}", await each.read()) for place, each in enumerate(files, 1)]
    return parsed(AnswerOptions, given), contents
