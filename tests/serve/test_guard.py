"""What is checked before a request is answered."""

import logging

import pytest
from starlette.testclient import TestClient

from hiercos.serve import ServedModel, Service, create_app
from hiercos.serve.guard import error_answer
from serving import client_of


@pytest.mark.parametrize(
    ("headers", "status", "sentence"),
    [
        ({"Host": "evil.example"}, 400, "the Host header names another machine"),
        ({"Host": "localhost.evil.example:80"}, 400, "the Host header names another machine"),
        ({"Origin": "http://evil.example"}, 403, "a page of another site"),
        ({"Origin": "http://["}, 403, "a page of another site"),
        ({"Content-Length": "101"}, 413, "at most 100 bytes"),
        ({"Content-Length": "-1"}, 413, "at most 100 bytes"),
    ],
)
def test_a_request_that_does_not_belong_here_is_refused(
    toy: ServedModel, headers: dict[str, str], status: int, sentence: str
) -> None:
    with client_of(toy, body_bytes=100) as client:
        answer = client.post("/predict", json={"inputs": "a"}, headers=headers)
        assert client.post("/predict", json={"inputs": "a"}, headers={"Host": "[::1]:8000"}).status_code == 200
    assert answer.status_code == status
    assert sentence in answer.json()["error"]


def test_a_site_that_is_allowed_may_call_and_ask_before_it_does(toy: ServedModel) -> None:
    site = {"Origin": "http://labels:8080"}
    with client_of(toy, origins="http://labels:8080", token="secret") as client:
        asked = client.options("/predict", headers=site)
        answer = client.get("/model", headers={**site, "Authorization": "Bearer secret"})
        refused = client.options("/predict", headers={"Origin": "http://other:8080"})
    assert (asked.status_code, answer.status_code, refused.status_code) == (204, 200, 403)
    assert (
        answer.headers["access-control-allow-origin"] == asked.headers["access-control-allow-origin"] == site["Origin"]
    )
    assert "authorization" in asked.headers["access-control-allow-headers"]


def test_the_host_that_is_listened_on_is_known_in_brackets(toy: ServedModel) -> None:
    app = create_app(Service({"toy": toy}, host="FE80::1"))
    with TestClient(app, base_url="http://[fe80::1]:8000") as client:
        assert client.get("/health").status_code == 200


def test_a_body_without_a_length_is_cut_at_the_limit(toy: ServedModel) -> None:
    with client_of(toy, body_bytes=100) as client:
        parts = (b"text\n" + b"a" * 60 for _ in range(3))
        answer = client.post("/predict/table", content=parts, headers={"content-type": "text/csv"})
    assert (answer.status_code, answer.json()["error"][:38]) == (413, "expected at most 100 bytes in a reques")


def test_the_bytes_of_open_requests_are_bounded_together(toy: ServedModel) -> None:
    csv, sentence = {"content-type": "text/csv"}, "the open requests have too many bytes together"
    with client_of(toy, open_bytes=100) as client:
        refused = client.post("/predict/table", content=b"text\n" + b"a" * 96, headers=csv)
        for _ in range(3):  # what was refused or answered counts no more
            assert client.post("/predict", json={"inputs": "a" * 60}).status_code == 200
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json()["error"].startswith(sentence)


@pytest.mark.parametrize("token", ["", "wrong", "secre", "Basic secret"])
def test_only_who_has_the_token_is_answered(toy: ServedModel, token: str) -> None:
    with client_of(toy, token="secret") as client:
        refused = client.get("/model", headers={"Authorization": token if " " in token else f"Bearer {token}"})
        assert client.get("/model", headers={"Authorization": "Bearer secret"}).status_code == 200
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")


def test_every_answer_forbids_what_the_page_does_not_need(toy: ServedModel) -> None:
    with client_of(toy) as client:
        for answer in (client.get("/"), client.get("/nowhere"), client.get("/model", headers={"Host": "x"})):
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "access-control-allow-origin" not in answer.headers


def test_a_failure_is_logged_by_its_place_and_tells_nothing_of_the_input(caplog: pytest.LogCaptureFixture) -> None:
    def failing() -> None:
        raise RuntimeError("the secret text in /home/someone")

    with pytest.raises(RuntimeError) as caught:
        failing()
    with caplog.at_level(logging.ERROR):
        answer = error_answer(caught.value)
    assert (answer.status_code, "secret" in bytes(answer.body).decode()) == (500, False)
    assert "RuntimeError in failing:" in caplog.text
    assert "secret" not in caplog.text
    assert "someone" not in caplog.text
