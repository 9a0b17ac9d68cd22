"""The queue, its decisions, and Label Studio."""

import json
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hiercos.data import python_rows, read_corrections
from hiercos.errors import DataError
from hiercos.evaluation import review_rows
from hiercos.serve import Review, ServedModel, queue_text, read_queue, tasks
from serving import client_of, texts_of


def queue_of(toy: ServedModel, path: Path, count: int) -> Path:
    """A queue of different texts."""
    texts = [f"{text} {'abcdefghijklmnop'[number] * 3}" for number, (text, _) in enumerate(texts_of(count))]
    path.write_text(queue_text(review_rows(answered(toy, texts), count), toy.taxonomy))
    return path


def answered(toy: ServedModel, texts: list[str]) -> Iterator[Any]:
    yield from toy.model.batches(python_rows(texts, "texts"))


@pytest.fixture
def feedback(tmp_path: Path) -> Path:
    return tmp_path / "corrections.jsonl"


@pytest.fixture
def client(toy: ServedModel, tmp_path: Path, feedback: Path) -> Iterator[TestClient]:
    review = Review(read_queue(queue_of(toy, tmp_path / "queue.csv", 4)), feedback)
    with client_of(toy, review=review) as found:
        yield found


def decide(client: TestClient, place: int, who: str, decision: str, node: str | None = None) -> int:
    body = {"place": place, "who": who, "decision": decision, "node": node}
    return client.post("/review/decisions", json=body).status_code


def next_row(client: TestClient, who: str, **query: object) -> dict[str, object]:
    return dict(client.get("/review/next", params={"who": who, **query}).json())


def test_two_people_share_a_queue_and_their_agreement_is_counted(client: TestClient, feedback: Path) -> None:
    assert [next_row(client, who)["place"] for who in ("ann", "bob", "ann")] == [0, 1, 0]
    assert decide(client, 0, "ann", "node", "cat") == 200
    assert decide(client, 1, "bob", "node", "pet") == 200
    assert [next_row(client, who)["place"] for who in ("ann", "bob")] == [2, 3]
    decide(client, 2, "ann", "none")
    decide(client, 3, "bob", "skip")
    assert next_row(client, "bob") == {"place": None, "rows": 4, "done": 3, "shared": 0, "agreement": None}
    assert next_row(client, "ann")["place"] == 3  # which bob has skipped
    assert [next_row(client, who, second=True)["place"] for who in ("ann", "bob")] == [1, 0]
    decide(client, 1, "ann", "node", "pet > dog")
    decide(client, 0, "bob", "node", "pet > cat")
    assert next_row(client, "bob", second=True)["agreement"] == 0.5
    written = [json.loads(line) for line in feedback.read_text().splitlines()]
    assert [(each["who"], each["decision"], each["node"]) for each in written][:3] == [
        ("ann", "node", "pet > cat"),
        ("bob", "node", "pet"),
        ("ann", "none", None),
    ]
    assert {"row", "text", "answer", "when", "model"} <= written[0].keys()
    assert [(each.who, each.node) for each in read_corrections(feedback)] == [
        ("ann", "pet > cat"),
        ("bob", "pet"),
        ("ann", ""),
        ("ann", "pet > dog"),
        ("bob", "pet > cat"),
    ]


def test_undo_gives_a_row_back_and_a_restart_remembers(toy: ServedModel, tmp_path: Path, feedback: Path) -> None:
    queue = read_queue(queue_of(toy, tmp_path / "queue.csv", 3))
    with client_of(toy, review=Review(queue, feedback)) as client:
        for place in range(3):
            decide(client, place, "ann", "node", "cat")
        decide(client, 2, "ann", "undo")
        assert next_row(client, "ann")["place"] == 2
    with feedback.open("ab") as file:
        file.write(b'{"row": 9, "text": "cut sho')  # a kill while a decision is written
    with client_of(toy, review=Review(queue, feedback)) as client:
        assert next_row(client, "bob")["done"] == 2
        decide(client, 2, "bob", "node", "car")
    assert [each.node for each in read_corrections(feedback)] == ["pet > cat", "pet > cat", "vehicle > car"]


def test_a_whole_last_decision_without_a_line_end_is_kept(toy: ServedModel, tmp_path: Path, feedback: Path) -> None:
    queue = read_queue(queue_of(toy, tmp_path / "queue.csv", 2))
    feedback.write_text(json.dumps({"text": queue[0]["text"], "decision": "none", "who": "ann"}))
    with client_of(toy, review=Review(queue, feedback)) as client:
        assert next_row(client, "bob")["done"] == 1
        decide(client, 1, "bob", "none")
    assert [each.who for each in read_corrections(feedback)] == ["ann", "bob"]


DECISION = '{"text": "a", "decision": "none", "who": "ann"}\n'


@pytest.mark.parametrize(
    ("content", "row"),
    [
        ("notes without a line end", 1),
        ("text,label\nfurry,cat", 1),
        (f"{DECISION}[1]\n", 2),
        (f"{DECISION}[1]", 2),
        ('{"text": "a", "decision": "none"}\n', 1),
    ],
)
def test_a_file_of_something_else_is_refused_and_not_touched(feedback: Path, content: str, row: int) -> None:
    feedback.write_text(content)
    with pytest.raises(DataError, match=rf"corrections.jsonl: row {row}: expected a decision of a review"):
        Review([], feedback)
    assert feedback.read_text() == content


def test_a_second_server_may_not_write_to_the_same_file(toy: ServedModel, feedback: Path) -> None:
    sentence = r"corrections.jsonl: another server writes decisions"
    with client_of(toy, review=Review([], feedback)), pytest.raises(DataError, match=sentence):
        Review([], feedback)
    Review([], feedback).close()
    assert [path.name for path in feedback.parent.iterdir()] == [feedback.name]


def test_a_decision_for_which_the_disk_has_no_room_leaves_nothing(client: TestClient, feedback: Path) -> None:
    decide(client, 0, "ann", "node", "cat")
    content, (soft, hard) = feedback.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(content) + 20, hard))
    try:
        assert decide(client, 1, "ann", "node", "cat") == 503
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert feedback.read_bytes() == content
    assert decide(client, 1, "ann", "node", "cat") == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"place": 9, "decision": "none", "who": "ann"}, 404),
        ({"place": 0, "decision": "node", "who": "ann"}, 422),
        ({"place": 0, "decision": "node", "who": "ann", "node": "bird"}, 422),
        ({"place": 0, "decision": "node", "who": "ann", "node": "root"}, 422),
        ({"place": 0, "decision": "skip", "who": "ann", "node": "cat"}, 422),
        ({"place": 0, "decision": "none", "who": ""}, 422),
    ],
)
def test_an_impossible_decision_is_refused_and_nothing_is_written(
    client: TestClient, feedback: Path, body: dict[str, object], status: int
) -> None:
    assert client.post("/review/decisions", json=body).status_code == status
    assert feedback.read_text() == ""


def test_a_service_without_a_queue_says_so(toy: ServedModel) -> None:
    with client_of(toy) as client:
        answer = client.get("/review/next", params={"who": "ann"})
        assert client.get("/models").json()["review"] is False
    assert (answer.status_code, "--queue" in answer.json()["error"]) == (404, True)


def test_another_file_is_no_queue(tmp_path: Path) -> None:
    (tmp_path / "queue.csv").write_text("text,label\nfurry,cat\n")
    with pytest.raises(DataError, match=r"queue.csv: row 2: expected a row of hiercos review"):
        read_queue(tmp_path / "queue.csv")


def test_label_studio_gets_taxonomy_results(client: TestClient, toy: ServedModel) -> None:
    version = toy.digest[:12]
    assert client.get("/label-studio/health").json() == {"status": "UP", "model_class": "hiercos"}
    assert client.post("/label-studio/setup", json={"project": "1.2", "schema": "<View/>"}).json() == {
        "model_version": version
    }
    assert client.post("/label-studio/webhook", json={"action": "ANNOTATION_CREATED"}).status_code == 200
    sent = {
        "tasks": [{"id": 1, "data": {"text": "purring whiskers"}}, {"id": 2, "data": {"text": "furry"}}],
        "project": "1",
    }
    results = client.post("/label-studio/predict", json=sent).json()["results"]
    assert [each["result"][0]["value"] for each in results] == [{"taxonomy": [["pet", "cat"]]}, {"taxonomy": [["pet"]]}]
    assert results[0]["result"][0]["type"] == "taxonomy"
    assert results[0]["model_version"] == version
    assert client.post("/label-studio/predict", json={"tasks": [{"data": {}}]}).status_code == 422


def test_tasks_for_label_studio_have_the_sure_node_as_their_prediction(toy: ServedModel) -> None:
    rows = review_rows(answered(toy, ["purring whiskers", "nothing known"]), 2)
    found = {task["data"]["text"]: task["predictions"] for task in tasks(rows, toy.taxonomy, "v1")}
    assert found["purring whiskers"][0]["result"][0]["value"] == {"taxonomy": [["pet", "cat"]]}
    assert found["nothing known"] == []
