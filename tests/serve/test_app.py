"""The HTTP interface: what it answers is what the command answers, and what it refuses has a sentence."""

import asyncio
import io
import json
import os
import tempfile
import threading
from collections import Counter
from collections.abc import MutableMapping
from pathlib import Path

import numpy as np
import pytest
import schemathesis
from hypothesis import given, seed, settings
from PIL import Image
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

from colours import colour_images
from hiercos.cli.app import run
from hiercos.data import Dataset, InputBatch, Texts, Vectors
from hiercos.decisions import Posterior
from hiercos.serve import Limits, ServedModel, Service, create_app
from hiercos.serve.served_model import measured_curve
from hiercos.training import Settings, train
from onnx_exports import of_images
from serving import client_of, loaded, texts_of, write_rows
from trees import TOY

TEXTS = [text for text, _ in texts_of(40)]


def answers_of_the_command(folder: Path, table: Path, *options: str) -> list[dict[str, object]]:
    out = table.with_name("answers.json")
    assert run(["predict", str(folder), str(table), "--output", str(out), *options]) == 0
    return [{name: value for name, value in row.items() if name != "row"} for row in json.loads(out.read_text())]


@pytest.mark.parametrize("options", [{}, {"confidence": 0.8}, {"explain": True, "within": ["pet"]}, {"rule": "hops"}])
def test_the_answers_are_those_of_the_command(
    model_folder: Path, toy: ServedModel, tmp_path: Path, options: dict[str, object]
) -> None:
    words = {"confidence": ["--confidence", "0.8"], "explain": ["--explain"], "within": ["--within", "pet"]}
    given = [word for name in options for word in words.get(name, ["--rule", "hops"])]
    expected = answers_of_the_command(model_folder, write_rows(tmp_path / "rows.csv", 40), *given)
    with client_of(toy) as client:
        found = client.post("/predict", json={"inputs": TEXTS, **options}).json()
        alone = client.post("/predict", json={"inputs": TEXTS[7], **options}).json()["answers"]
    assert (found["model"], found["hash"]) == ("toy", toy.digest)
    assert [{name: value for name, value in row.items() if name != "row"} for row in found["answers"]] == expected
    assert [{**alone[0], "row": 8}] == [found["answers"][7]]


def test_an_answer_does_not_depend_on_the_requests_that_share_its_batch(toy: ServedModel) -> None:
    alone, together = {}, {}
    with client_of(toy) as client:

        def ask(text: str, found: dict[str, object], **options: object) -> None:
            found[text] = client.post("/predict", json={"inputs": text, **options}).json().get("answers")

        for text in TEXTS:
            ask(text, alone)
        wrong = [threading.Thread(target=ask, args=["furry", {}], kwargs={"within": "nobody"}) for _ in range(4)]
        threads = [*wrong, *(threading.Thread(target=ask, args=[text, together]) for text in TEXTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert together == alone


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_table_comes_back_as_the_csv_of_the_command(
    model_folder: Path, toy: ServedModel, tmp_path: Path, suffix: str
) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    table = write_rows(tmp_path / "rows.csv", 1100)
    kinds = {"csv": "text/csv", "jsonl": "application/jsonl", "parquet": "application/vnd.apache.parquet"}
    if suffix == "jsonl":
        rows = [{"text": text, "label": name} for text, name in texts_of(1100)]
        table = tmp_path / "rows.jsonl"
        table.write_text("\n".join(map(json.dumps, rows)))
    elif suffix == "parquet":
        pyarrow.parquet.write_table(pyarrow.csv.read_csv(table), tmp_path / "rows.parquet")
        table = tmp_path / "rows.parquet"
    out = tmp_path / "answers.csv"
    options = ["--keep-columns", "label", "--confidence", "0.7", "--output", str(out)]
    assert run(["predict", str(model_folder), str(table), *options]) == 0
    query = {"keep_columns": "label", "options": '{"confidence": 0.7}'}
    with client_of(toy) as client:
        answer = client.post(
            "/predict/table", params=query, content=table.read_bytes(), headers={"content-type": kinds[suffix]}
        )
    assert (answer.status_code, answer.headers["x-rows"]) == (200, "1100")
    assert answer.text == out.read_text()


def test_images_are_uploaded_and_answered_like_files(tmp_path: Path) -> None:
    images, model = colour_images(3), of_images().stored
    paths = [tmp_path / f"{row}.png" for row in range(3)]
    for row, path in enumerate(paths):
        images.open(row).save(path)
    expected = [{**each, "image": path.name} for path, each in zip(paths, model.answers(paths), strict=True)]
    files = [("images", (path.name, path.read_bytes(), "image/png")) for path in paths]
    large = io.BytesIO()
    Image.new("RGB", (200, 100)).save(large, "PNG")
    half = io.BytesIO()
    Image.new("RGB", (100, 80)).save(half, "PNG")
    served = ServedModel("colours", tmp_path, model, facts={"levels": []})
    with client_of(served, pixels=10_000) as client:
        found = client.post("/predict", files=files)
        too_large = client.post("/predict", files=[("images", ("big.png", large.getvalue()))])
        together = client.post("/predict", files=[("images", ("half.png", half.getvalue()))] * 2)
        broken = client.post("/predict", files=[("images", ("no.png", b"no image"))])
        path = client.post("/predict", json={"inputs": str(paths[0])})
        one = client.post("/predict", files=files[:1], data={"request": '{"top": 2}'}).json()["answers"]
    assert found.json()["answers"] == expected
    assert len(one[0]["top"]) == 2
    assert "at most 10,000 pixels, got 20,000" in too_large.json()["error"]
    assert "at most 10,000 pixels, got 16,000" in together.json()["error"]
    assert [each.status_code for each in (too_large, broken, path)] == [413, 422, 422]
    assert broken.json()["error"].startswith("no.png: ")
    assert "takes images" in path.json()["error"]


def test_facts_examples_and_nodes_are_told(toy: ServedModel) -> None:
    with client_of([toy, loaded(toy.path, "second")]) as client:
        assert client.get("/models").json()["models"] == ["toy", "second"]
        facts = client.get("/model", params={"model": "second"}).json()
        assert (facts["classes"], facts["kind"], facts["name"]) == (3, "texts", "second")
        assert [point["confidence"] for point in facts["curve"]] == sorted(
            point["confidence"] for point in facts["curve"]
        )
        assert [each.keys() for each in facts["examples"]] == [{"text"}] * 4  # without names, which may be paths
        paths = [node["path"] for node in client.get("/taxonomy", params={"under": "pet"}).json()["items"]]
        assert paths == ["pet", "pet > cat", "pet > dog"]
        assert [n["name"] for n in client.get("/taxonomy", params={"search": "A"}).json()["items"]] == ["cat", "car"]
        nested = client.get("/taxonomy", params={"form": "label-studio"}).json()["items"]
        leaves = [{"value": name, "isLeaf": True} for name in ("cat", "dog")]
        assert nested[0] == {"value": "pet", "isLeaf": False, "children": leaves}
        assert client.get("/model", params={"model": "third"}).json() == {
            "error": "there is no model of this name; there are: toy, second"
        }


def test_the_curve_counts_held_out_rows(toy: ServedModel) -> None:
    posterior = Posterior(np.array([[0.7, 0.3, 0.0], [0.4, 0.35, 0.25], [0.1, 0.1, 0.8]]), TOY)
    points = {point["confidence"]: point for point in measured_curve(posterior, np.array([1, 0, 2]))}
    # at 0.7: cat (wrong), pet (contains cat), car; at 0.8: pet (contains dog), "cannot say", car
    assert points[0.7] == {"confidence": 0.7, "precision": 2 / 3, "coverage": 1.0, "classes": 2 / 3, "rows": 3}
    assert points[0.8] == {"confidence": 0.8, "precision": 1.0, "coverage": 2 / 3, "classes": 1 / 3, "rows": 3}


FAULTS = [
    ({"inputs": []}, "expected 1 to 5 inputs"),
    ({"inputs": ["a"] * 6}, "expected 1 to 5 inputs"),
    ({"inputs": [[1.0, 2.0]]}, "this model takes texts, got vectors"),
    ({"inputs": 5}, "inputs: Input should be a valid string or a valid array"),
    ({"texts": ["a"]}, "inputs: expected a value, got none"),
    ({"inputs": ["  "]}, "the text is empty"),
    ({"inputs": "a", "confidence": 2}, "confidence: Input should be less than or equal to 1"),
    ({"inputs": "a", "within": ["bird"]}, "unknown label 'bird'"),
    ({"inputs": "a", "deny": ["pet", "vehicle"]}, "no class is left"),
    ({"inputs": "a", "min_level": "genus"}, "genus"),
    ({"inputs": "a", "rule": "hopps"}, "hops"),
    ({"inputs": "a", "topp": 1}, "topp: there is no such name; did you mean 'top'?"),
    ({"inputs": "a", "target_precision": 0.999}, "target_precision"),
]


@pytest.mark.parametrize(("body", "sentence"), FAULTS)
def test_unusable_input_is_refused_with_a_sentence(toy: ServedModel, body: dict[str, object], sentence: str) -> None:
    with client_of(toy, rows=5) as client:
        answer = client.post("/predict", json=body)
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]


def test_a_faulty_table_is_named_without_a_folder_of_the_machine(toy: ServedModel) -> None:
    csv_type = {"content-type": "text/csv"}
    with client_of(toy, table_rows=2) as client:
        empty = client.post("/predict/table", content='text\nfurry\n" "\n', headers=csv_type)
        column = client.post("/predict/table", content="title\nfurry\n", headers=csv_type)
        long = client.post("/predict/table", content="text\na\nb\nc\n", headers=csv_type)
        kind = client.post("/predict/table", content="text\na\n", headers={"content-type": "text/plain"})
    assert empty.json()["error"].startswith("table.csv: row 3: the text is empty")
    assert "--" not in empty.json()["error"]
    assert column.json()["error"].startswith("table.csv: expected a column 'text'")
    assert [each.status_code for each in (empty, column, long, kind)] == [422, 422, 413, 415]


@pytest.mark.parametrize("has_begun", [True, False])
def test_a_client_that_leaves_during_an_answer_leaves_no_table(
    toy: ServedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_begun: bool
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    service = Service({"toy": toy})
    names = {"type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1"}
    where = {"method": "POST", "path": "/predict/table", "query_string": b"", "scheme": "http", "root_path": ""}
    headers = [(b"host", b"localhost"), (b"content-type", b"text/csv")]

    async def ask() -> None:
        bodies, begun = iter([b"text\nfurry\n"]), asyncio.Event()

        async def receive() -> dict[str, object]:
            if (body := next(bodies, None)) is not None:
                return {"type": "http.request", "body": body, "more_body": False}
            if has_begun:
                await begun.wait()
            return {"type": "http.disconnect"}

        async def send(message: MutableMapping[str, object]) -> None:
            assert message["type"] == "http.response.start"
            begun.set()

        await create_app(service)({**names, **where, "headers": headers}, receive, send)
        assert list(tmp_path.iterdir()) == []

    go = threading.Event()
    service.inference.submit(toy, InputBatch([1], Texts(["a"])), lambda *_: go.wait(20))  # so that the table waits
    asyncio.run(ask())
    go.set()
    service.inference.stop()


def test_the_classes_listed_for_all_inputs_are_bounded(toy: ServedModel) -> None:
    with client_of(toy) as client:
        answer = client.post("/predict", json={"inputs": ["a"] * 21, "top": 1000})
    assert (answer.status_code, answer.json()["error"][:29]) == (413, "top: expected at most 20,000 ")


def test_a_reload_needs_the_token_and_takes_the_new_model(toy: ServedModel) -> None:
    newer = loaded(toy.path)
    object.__setattr__(newer, "digest", "newer")
    allowed = {"authorization": "Bearer secret"}
    with client_of(toy) as client:
        assert client.post("/reload").status_code == 403
    with client_of(toy, token="secret", load=lambda _: newer) as client:
        assert client.post("/reload").status_code == client.get("/model").status_code == 401
        assert client.get("/health").json() == {"status": "UP"}
        assert client.post("/reload", headers=allowed).json() == {"toy": "newer"}
        assert client.post("/predict", json={"inputs": "a furry thing"}, headers=allowed).json()["hash"] == "newer"
        assert client.post("/label-studio/setup", headers=allowed).json() == {"model_version": "newer"}


def test_counters_tell_requests_levels_and_confidence(toy: ServedModel) -> None:
    with client_of(toy) as client:
        answers = client.post("/predict", json={"inputs": TEXTS[:6], "confidence": 0.99}).json()["answers"]
        client.post("/predict", json={"inputs": []})
        text = client.get("/metrics").text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert values['hiercos_requests_total{route="/predict",status="200"}'] == "1"
    assert values['hiercos_requests_total{route="/predict",status="422"}'] == "1"
    assert values['hiercos_rows_total{model="toy"}'] == "6"
    stopped = sum(int(count) for name, count in values.items() if name.startswith("hiercos_answers_total"))
    assert stopped == 6
    mean = sum(answer["confidence"] or 0 for answer in answers)
    assert float(values['hiercos_confidence_sum{model="toy"}']) == pytest.approx(mean)


AS_DESCRIBED = [status_code_conformance, content_type_conformance, response_schema_conformance]
CASES = int(os.environ.get("HIERCOS_CASES", "200"))  # requests made from the description


@pytest.mark.long
@pytest.mark.parametrize("token", ["", "secret"])
def test_requests_made_from_the_description_get_the_answers_that_it_describes(toy: ServedModel, token: str) -> None:
    app = create_app(Service({"toy": toy}, Limits(rows=50), token=token))
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=headers_of(token))
    operations = [each.ok() for each in schema.get_all_operations()]
    statuses: Counter[int] = Counter()

    def check(case: schemathesis.Case) -> None:
        answer = case.call(headers=headers_of(token))
        assert answer.status_code < 500 or answer.status_code == 503, (case.as_curl_command(), answer.text)
        case.validate_response(answer, checks=AS_DESCRIBED)
        statuses[answer.status_code] += 1

    with TestClient(app):
        for operation in operations:
            cases = settings(max_examples=CASES // 8, deadline=None, database=None)
            cases(seed(0)(given(case=operation.as_strategy())(check)))()
    assert {200, 422} <= statuses.keys()
    assert statuses.total() >= CASES / 2, statuses


def headers_of(token: str) -> dict[str, str]:
    return {"Host": "localhost", **({"Authorization": f"Bearer {token}"} if token else {})}


def test_a_model_of_several_labels_answers_with_lists(tmp_path: Path) -> None:
    sets = np.array([[2, 4], [3, -1], [4, -1], [2, -1]] * 30)  # cat and car, dog, car, cat
    features = np.stack([(sets == node).any(axis=1) for node in (2, 3, 4)], axis=1).astype(np.float32)
    split = np.repeat(["train", "val"], [80, 40])
    data = Dataset(
        "sets",
        TOY,
        Vectors(features),
        np.where(sets[:, 1] < 0, sets[:, 0], -1),
        split,
        label_sets=sets,
        purpose="train",
    )
    train(data, Settings(), folder=tmp_path)
    with client_of(loaded(tmp_path)) as client:
        found = client.post("/predict", json={"inputs": [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]}).json()["answers"]
        refused = client.post("/predict", json={"inputs": [[1.0, 0.0, 1.0]], "top": 2})
        counted = client.get("/metrics").text
    assert [{each["class"] for each in answer["answers"]} for answer in found] == [{"cat", "car"}, {"dog"}]
    assert refused.status_code == 422
    assert "no top, explain" in refused.json()["error"]
    assert 'level="2 labels"} 1' in counted
