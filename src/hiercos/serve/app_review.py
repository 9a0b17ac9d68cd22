"""Routes of the review, and of Label Studio's ML backend."""

from typing import Annotated, Any

from fastapi import FastAPI, Query, Response
from fastapi.responses import JSONResponse
from pydantic import ConfigDict
from starlette.concurrency import run_in_threadpool

from hiercos.data import InputBatch, as_inputs
from hiercos.decisions import BackOff, Posterior
from hiercos.evaluation import SURE
from hiercos.serve.label_studio import prediction
from hiercos.serve.limits import Body, ServeError
from hiercos.serve.requests import JsonObject
from hiercos.serve.review import DecisionBody, Review
from hiercos.serve.served_model import ServedModel
from hiercos.serve.server import Service
from hiercos.serve.taxonomy_views import node_of


class TaskBody(Body):
    """What Label Studio sends for predictions; it may send more."""

    model_config = ConfigDict(extra="ignore")
    tasks: list[dict[str, Any]]


def add_review(app: FastAPI, service: Service) -> None:
    """The next row, and decisions."""

    def review() -> Review:
        if service.review is None:
            raise ServeError(404, "there is no queue to review: start the service with --queue and --feedback")
        return service.review

    @app.get("/review/next", response_model=JsonObject)
    async def next_row(
        who: Annotated[str, Query(min_length=1, max_length=100, description="Name of the person.")],
        second: Annotated[bool, Query(description="Whether for a second opinion on decided rows.")] = False,
    ) -> Response:
        """The next row for a person, whose it is for five minutes, and how much is done."""
        return JSONResponse(await run_in_threadpool(review().next, who, second=second))

    @app.post("/review/decisions", response_model=JsonObject)
    async def decide(body: DecisionBody) -> Response:
        """Write down a decision; it is on disk when the answer comes."""
        found, served = review(), service.served(None)
        if (body.decision == "node") != (body.node is not None):
            raise ServeError(422, "node: expected the path of a node with the decision 'node', and none with others")
        node = None
        if body.node is not None:
            number = await run_in_threadpool(node_of, served.taxonomy, body.node)
            if number < 0:
                raise ServeError(422, "node: expected a node below the root")
            node = served.taxonomy.path_text(number)
        await run_in_threadpool(found.decide, body, node, served.digest)
        return JSONResponse({"written": True})


def add_label_studio(app: FastAPI, service: Service) -> None:
    """The ML backend of Label Studio at /label-studio; a webhook is acknowledged, since nothing is trained here."""

    def version(served: ServedModel) -> dict[str, str]:
        return {"model_version": served.digest[:12]}

    @app.get("/label-studio/health", response_model=JsonObject)
    async def health() -> Response:
        """Whether the backend answers."""
        return JSONResponse({"status": "UP", "model_class": "hiercos"})

    for path in ("/label-studio/setup", "/label-studio/webhook"):

        @app.post(path, response_model=JsonObject, operation_id=path.rpartition("/")[2])
        async def acknowledge() -> Response:
            """Acknowledge a project or an event."""
            return JSONResponse(version(service.served(None)))

    @app.post("/label-studio/predict", response_model=JsonObject)
    async def predict(body: TaskBody) -> Response:
        """The node that the model is sure of for each task, as a taxonomy result."""
        served = service.served(None)
        data = [task.get("data") for task in body.tasks]
        texts = [each.get("text") if isinstance(each, dict) else None for each in data]
        if served.model.kind != "texts" or not all(isinstance(text, str) for text in texts):
            raise ServeError(422, "tasks: expected a model of texts, and tasks whose data have a 'text'")
        if not 1 <= len(texts) <= service.limits.rows:
            raise ServeError(422, f"expected 1 to {service.limits.rows:,} tasks, got {len(texts):,}")
        inputs = await run_in_threadpool(as_inputs, texts, "texts")

        def results(_: InputBatch, posterior: Posterior) -> list[dict[str, Any]]:
            sure = BackOff(confidence=SURE)(posterior)
            pairs = zip(sure.nodes.tolist(), sure.probabilities.tolist(), strict=True)
            named = {"to_name": "text", "version": served.digest[:12]}
            return [prediction(posterior.taxonomy, node, round(score, 6), **named) for node, score in pairs]

        found = await service.result(served, InputBatch(range(1, len(texts) + 1), inputs), results)
        return JSONResponse({"results": found, **version(served)})
