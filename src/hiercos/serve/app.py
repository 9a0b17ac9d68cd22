"""The HTTP interface: routes, and their description in OpenAPI."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from hiercos.data import InputBatch
from hiercos.decisions import Posterior, Rule
from hiercos.errors import FaultsError
from hiercos.model import AnswerColumns, answer_columns, answer_rows
from hiercos.serve.app_review import add_label_studio, add_review
from hiercos.serve.guard import Guard, error_answer
from hiercos.serve.limits import ServeError, busy, fault_sentence
from hiercos.serve.requests import (
    JSON,
    MULTIPART,
    AnswerOptions,
    JsonObject,
    PredictBody,
    check_content_type,
    checked_inputs,
    form_images,
    json_body,
    parsed,
    uploaded_images,
)
from hiercos.serve.served_model import ServedModel
from hiercos.serve.server import Service
from hiercos.serve.tables import SUFFIX_OF_TYPE, csv_rows, table_inputs, uploaded_table
from hiercos.serve.taxonomy_views import found_nodes, label_studio_items, node_values, nodes_under

PAGE = Path(__file__).with_name("page")
LISTED = 20_000  # most classes that the answers to a request list


class Fault(BaseModel):
    """Reason of a refusal."""

    error: str


class Answers(BaseModel):
    """Answers, each an object with the columns of `hiercos predict`."""

    model: str
    hash: str
    guarantee: str
    answers: list[dict[str, Any]]


FAULTS: dict[int | str, Any] = {status: {"model": Fault} for status in (400, 401, 403, 404, 413, 415, 422, 503)}
ModelName = Annotated[str | None, Query(description="Name of the model; the first one by default.")]


def create_app(service: Service) -> FastAPI:
    """The application of a service, which ends with it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(service.inference.stop)
        if service.review is not None:
            service.review.close()

    # docs_url and redoc_url are pages that load from other sites
    quiet: dict[str, Any] = {"docs_url": None, "redoc_url": None, "redirect_slashes": False}
    app = FastAPI(title="hiercos", lifespan=lifespan, responses=FAULTS, **quiet)
    app.state.service = service
    for add in (add_predict, add_table, add_facts, add_state, add_review, add_label_studio):
        add(app, service)
    app.mount("/", StaticFiles(directory=PAGE, html=True))  # for what is no route
    for kind in (FaultsError, HTTPException, RequestValidationError, MultiPartException):
        app.add_exception_handler(kind, _refused)
    checked: dict[str, Any] = {"limits": service.limits, "hosts": service.hosts, "token": service.token}
    app.add_middleware(Guard, telemetry=service.telemetry, **checked)
    return app


async def _refused(_: Request, error: Exception) -> JSONResponse:
    """The answer to a request that cannot be used."""
    if isinstance(error, RequestValidationError):
        own = [{**each, "loc": each["loc"][1:]} for each in error.errors()]  # without "query" or "path"
        return error_answer(ServeError(422, fault_sentence(own)))
    if isinstance(error, MultiPartException):
        return error_answer(ServeError(400, error.message))
    if isinstance(error, HTTPException):
        return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)
    return error_answer(error if isinstance(error, ServeError) else ServeError(422, str(error)))


def add_predict(app: FastAPI, service: Service) -> None:
    """`POST /predict`."""
    images = {"type": "array", "items": {"type": "string", "format": "binary"}}
    fields = {"images": images, "request": {"type": "string"}}
    content = {
        JSON: {"schema": PredictBody.model_json_schema()},
        MULTIPART: {"schema": {"type": "object", "required": ["images"], "properties": fields}},
    }

    @app.post("/predict", response_model=Answers, openapi_extra={"requestBody": {"required": True, "content": content}})
    async def predict(request: Request) -> Response:
        """Answer one input or several: texts or vectors as JSON, images as an upload."""
        if check_content_type(request, JSON, MULTIPART) == JSON:
            options: AnswerOptions = await json_body(PredictBody, request)
            made = partial(checked_inputs, options.inputs)  # type: ignore[attr-defined]
        else:
            options, files = await form_images(request, service.limits)
            made = partial(uploaded_images, files)
        served = service.served(options.model)
        inputs = await run_in_threadpool(made, served.model, service.limits)
        if len(inputs) * (options.top or 0) > LISTED:
            raise ServeError(413, f"top: expected at most {LISTED:,} classes for all inputs of a request together")
        rule, guarantee = await run_in_threadpool(_chosen, served, options)
        wanted, shown = options.answer_request(), _shown(served, options)

        def answers(batch: InputBatch, posterior: Posterior) -> list[dict[str, Any]]:
            found = answer_rows(batch, wanted.restricted(posterior), rule, **shown)
            names = {"row", "class", "confidence", "level", "answers"} & found[0].keys()
            service.telemetry.answers(served.name, {name: [each[name] for each in found] for name in names})
            return found

        batch = InputBatch(range(1, len(inputs) + 1), inputs)
        found = await service.result(served, batch, answers, energies=options.explain)
        return JSONResponse({"model": served.name, "hash": served.digest, "guarantee": guarantee, "answers": found})


def _chosen(served: ServedModel, options: AnswerOptions) -> tuple[Rule, str]:
    """The rule to answer by, and its guarantee; the names of classes are checked, too."""
    request = options.answer_request()
    request.allowed(served.taxonomy)
    served.taxonomy.level_number(request.min_level)
    rule = request.chosen_rule(served.model.rule, served.model.calibration)
    return rule, request.guarantee(rule)


def _shown(served: ServedModel, options: AnswerOptions) -> dict[str, Any]:
    """Arguments of `answer_columns` and `answer_rows`."""
    explainer = served.model.contributions if options.explain else None
    return {"top": options.top, "explainer": explainer, "level_confidences": options.level_confidences}


def add_table(app: FastAPI, service: Service) -> None:
    """`POST /predict/table`."""
    content = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in SUFFIX_OF_TYPE}
    described = {"requestBody": {"required": True, "content": content}}
    csv: dict[int | str, dict[str, Any]] = {
        200: {"description": "CSV", "content": {"text/csv": {"schema": {"type": "string"}}}}
    }

    @app.post("/predict/table", response_class=Response, responses=csv, openapi_extra=described)
    async def predict_table(
        request: Request,
        options: Annotated[str, Query(description="How to answer, as the JSON of /predict without inputs.")] = "{}",
        input_column: Annotated[str | None, Query(description="Column of the texts; 'text' by default.")] = None,
        keep_columns: Annotated[list[str] | None, Query(description="Columns to copy to the answers.")] = None,
    ) -> Response:
        """Answer every row of a table: CSV, TSV, JSON Lines or Parquet in, the CSV of hiercos predict out."""
        suffix = SUFFIX_OF_TYPE[check_content_type(request, *SUFFIX_OF_TYPE)]
        wanted = parsed(AnswerOptions, options)
        served = service.served(wanted.model)
        rule, _ = await run_in_threadpool(_chosen, served, wanted)
        reading = {"input_column": input_column, "keep_columns": keep_columns or []}
        async with AsyncExitStack() as stack:
            path = await stack.enter_async_context(uploaded_table(request, suffix))
            inputs = await run_in_threadpool(partial(table_inputs, path, served, service.limits, **reading))
            kept = stack.pop_all()
        restricted, shown = wanted.answer_request().restricted, _shown(served, wanted)

        def columns(batch: InputBatch, posterior: Posterior) -> AnswerColumns:
            found = answer_columns(batch, restricted(posterior), rule, **shown)
            if wanted.top is None:
                service.telemetry.answers(served.name, found)
            return found

        async def stream() -> AsyncIterator[bytes]:
            answer = partial(service.result, served, use=columns, energies=wanted.explain, bounded=False)
            async for part in csv_rows(inputs, service.limits.batch_rows, answer):
                yield part

        return TableAnswer(stream(), kept, inputs.count)


class TableAnswer(StreamingResponse):
    """CSV as it is made; at its end, which may come before its begin, the table is removed."""

    def __init__(self, content: AsyncIterator[bytes], kept: AsyncExitStack, rows: int | None) -> None:
        super().__init__(content, media_type="text/csv", headers={"X-Rows": str(rows)})
        self.kept = kept

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        async with self.kept:
            await super().__call__(scope, receive, send)


def add_facts(app: FastAPI, service: Service) -> None:
    """Descriptions of the models: `GET /models`, `/model` and `/taxonomy`."""

    @app.get("/models", response_model=JsonObject)
    async def models() -> Response:
        """Names of the models, the first of which answers by default, and the limits of requests."""
        has_queue = service.review is not None
        return JSONResponse({"models": [*service.models], "limits": service.limits.model_dump(), "review": has_queue})

    @app.get("/model", response_model=JsonObject)
    async def model(model: ModelName = None) -> Response:
        """One model: its data, metrics, guarantee, precision and coverage at each confidence, and inputs to try."""
        return JSONResponse(service.served(model).facts)

    @app.get("/taxonomy", response_model=JsonObject)
    async def taxonomy(  # noqa: PLR0917  # parameters of the query
        model: ModelName = None,
        under: Annotated[str | None, Query(description="Node by name, id or path; the root by default.")] = None,
        depth: Annotated[int | None, Query(ge=0, le=1000, description="Levels below it; all by default.")] = None,
        search: Annotated[str | None, Query(description="Text in the names or ids of the nodes.")] = None,
        limit: Annotated[int, Query(ge=1, le=1_000_000, description="Most nodes of a search.")] = 20,
        form: Annotated[Literal["nodes", "label-studio"], Query(description="Flat, or for Label Studio.")] = "nodes",
    ) -> Response:
        """Nodes of the taxonomy: all, those under a node, or those found by a text."""
        served = service.served(model)

        def values() -> list[dict[str, Any]]:
            tree = served.taxonomy
            nodes = nodes_under(tree, under, depth) if search is None else found_nodes(tree, search, limit)
            return label_studio_items(tree, nodes) if form == "label-studio" else [node_values(tree, n) for n in nodes]

        return JSONResponse({"levels": served.facts["levels"], "items": await run_in_threadpool(values)})


def add_state(app: FastAPI, service: Service) -> None:
    """Whether the service lives and is ready, its counters, and `POST /reload`."""

    @app.get("/health", response_model=JsonObject)
    async def health() -> Response:
        """Whether the process answers."""
        return JSONResponse({"status": "UP"})

    @app.get("/ready", response_model=JsonObject)
    async def ready() -> Response:
        """Whether requests are accepted."""
        if not service.inference.is_ready:
            raise busy("the service is stopping")
        return JSONResponse({"status": "ready"})

    @app.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Counters for Prometheus."""
        return PlainTextResponse(service.telemetry.text(service.inference.depth))

    @app.post("/reload", response_model=JsonObject)
    async def reload() -> Response:
        """Load the models again from their folders; requests go on with the old ones until the new ones are there."""
        if not service.token:
            raise ServeError(403, "the service has no token (HIERCOS_TOKEN), so it reloads by SIGHUP alone")
        if not await run_in_threadpool(service.reload):
            raise busy("a model cannot be loaded; the old ones stay, the log says why")
        return JSONResponse({name: served.digest for name, served in service.models.items()})
