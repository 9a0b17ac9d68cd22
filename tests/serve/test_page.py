"""The page in a real browser; skipped where Chromium is not installed (Debian: `apt-get install chromium`)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from browsers import BROWSER, Page, browser_page
from colours import colour_images
from hiercos.cli.app import run
from hiercos.data import python_rows
from hiercos.evaluation import review_rows
from hiercos.serve import Limits, Review, ServedModel, Service, queue_text, read_queue, served_model
from onnx_exports import of_images, of_vectors
from serving import loaded, running, texts_of, write_rows
from trees import TOY

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser_page(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="module")
def models(toy: ServedModel) -> dict[str, ServedModel]:
    named = {"colours": of_images().stored, "clouds": of_vectors().stored}
    return {"toy": toy, **{name: served_model(name, None, model) for name, model in named.items()}}


@pytest.fixture
def address(models: dict[str, ServedModel]) -> Iterator[str]:
    with running(Service(models, Limits(body_bytes=1_000_000))) as found:
        yield found


def test_a_text_is_classified_restricted_and_asked_to_be_surer(page: Page, address: str) -> None:
    page.open(address)
    page.until("state.facts.name")
    page.type("#text", "a furry thing")
    page.press("Enter", ctrl=True)
    page.until("!$('result').hidden")
    assert "somewhere in pet" in page.text("#sentence")
    assert page.js("[...document.querySelectorAll('#path b')].map(e => e.textContent)")[0] == "pet"
    assert page.js("[...document.querySelectorAll('#runners > li > div > b')].map(e => e.textContent)") == [
        "pet",
        "vehicle",
    ]
    at_90 = page.text("#measured")
    page.js("$('confidence').value = 51; $('confidence').oninput()")
    page.until("!$('sentence').textContent.includes('somewhere')")
    assert page.text("#measured") != at_90
    assert "held-out rows at 51%" in page.text("#measured")
    page.type("#branch", "veh")
    page.until("document.querySelectorAll('#branches li').length")
    page.press("ArrowDown")
    page.press("Enter")
    page.until("$('sentence').textContent.includes('car')")
    assert page.text("#within").startswith("vehicle")
    assert page.faults == []
    assert all(each.startswith((address, "data:", "blob:")) for each in page.requested)


def test_an_image_and_a_vector_are_classified(page: Page, address: str, tmp_path: Path) -> None:
    colour_images(1).open(0).save(tmp_path / "red.png")
    page.open(address)
    page.until("state.facts.name")
    page.js("$('model').value = 'colours'; $('model').onchange()")
    page.until("state.facts.name === 'colours' && !$('as-image').hidden")
    page.choose("#image", tmp_path / "red.png")
    page.until("!$('result').hidden")
    assert "There are no held-out rows" in page.text("#measured")
    page.js("$('model').value = 'clouds'; $('model').onchange()")
    page.until("!$('as-numbers').hidden")
    page.type("#numbers", ", ".join(["0.5"] * 12))
    page.click("#send")
    page.until("!$('result').hidden")
    assert page.js("document.querySelectorAll('#runners li').length") > 0
    assert page.faults == []


def test_a_row_of_columns_is_classified(page: Page, tmp_path: Path) -> None:
    weights = {"cat": 4, "dog": 20, "car": 1200}
    rows = [f"{text},{weights[name] + row / 100},{name}" for row, (text, name) in enumerate(texts_of(200))]
    (tmp_path / "rows.csv").write_text("\n".join(["name,weight,label", *rows]))
    TOY.write(tmp_path / "tree.csv")
    words = ["train", str(tmp_path / "rows.csv"), "--taxonomy", str(tmp_path / "tree.csv"), "--method", "tree-logistic"]
    assert run([*words, "--columns", "name:text,weight:number", "--out", str(tmp_path / "model")]) == 0
    with running(Service({"goods": loaded(tmp_path / "model")})) as address:
        page.open(address)
        page.until("document.querySelectorAll('[data-column]').length === 2")
        page.type("[data-column=name]", "metal wheels")
        page.type("[data-column=weight]", "1200")
        page.click("#send")
        page.until("$('sentence').textContent.startsWith('This is car')")
        page.type("[data-column=weight]", "heavy")
        page.click("#send")
        page.until("$('fault').textContent.includes(\"expected a number, got 'heavy'\")")
    assert page.faults == []


def test_a_table_comes_back_and_a_file_that_is_too_large_gets_a_sentence(
    page: Page, address: str, tmp_path: Path
) -> None:
    page.open(address)
    page.until("state.facts.name")
    page.click("[data-part=batch]")
    page.choose("#table", write_rows(tmp_path / "rows.csv", 1200))
    page.click("#upload")
    page.until("document.querySelector('#download a')")
    assert page.text("#download") == "1,200 rows are answered. Save rows-answers.csv"
    assert page.text("#done") == "1,200 of 1,200"
    (tmp_path / "large.csv").write_text("text\n" + "furry\n" * 200_000)
    page.choose("#table", tmp_path / "large.csv")
    page.click("#upload")
    page.until("!$('fault').hidden")
    assert page.text("#fault") == "large.csv has 1 MB; this service takes at most 1 MB."
    (tmp_path / "wrong.csv").write_text("title\nfurry\n")
    page.choose("#table", tmp_path / "wrong.csv")
    page.click("#upload")
    page.until("$('fault').textContent.startsWith('table.csv: expected a column')")
    assert page.faults == []


def test_a_phone_sees_the_whole_width_and_a_screen_reader_every_name(page: Page, address: str) -> None:
    page.open(address, width=390, height=800, mobile=True, dark=True)
    page.until("state.facts.name")
    page.type("#text", "a furry thing")
    page.click("#send")
    page.until("!$('result').hidden")
    assert page.js("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.js("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 28)"
    nameless = """[...document.querySelectorAll('button, input, select, textarea, progress, section')]
        .filter(e => !(e.getAttribute('aria-label') || e.labels?.[0]?.textContent.trim() || e.textContent.trim()
        || e.getAttribute('aria-live'))).map(e => e.id || e.outerHTML)"""
    assert page.js(nameless) == []
    assert page.js("document.querySelectorAll('[role=alert], [aria-live]').length") >= 3


def test_ten_rows_are_reviewed_with_the_keyboard_and_a_reload_and_a_restart_lose_nothing(
    page: Page, toy: ServedModel, tmp_path: Path
) -> None:
    texts = [f"furry {letter * 4} thing" for letter in "abcdefghijkl"]
    batches = toy.model.batches(python_rows(texts, "texts"))
    (tmp_path / "queue.csv").write_text(queue_text(review_rows(batches, 12), toy.taxonomy))
    queue, feedback = read_queue(tmp_path / "queue.csv"), tmp_path / "corrections.jsonl"

    def written() -> list[tuple[str, str]]:
        decisions = [json.loads(line) for line in feedback.read_text().splitlines()]
        return [(each["decision"], each["node"]) for each in decisions]

    def press(key: str, done: int) -> None:
        page.press(key)
        page.until(f"$('count').textContent.startsWith('{done} of 12') && !review.busy")

    with running(Service({"toy": toy}, review=Review(queue, feedback))) as address:
        page.open(address)
        page.until("!document.querySelector('[data-part=review]').hidden")
        page.click("[data-part=review]")
        page.type("#who", "ann")
        page.press("Enter")
        page.until("review.row")
        assert page.text("#known").startswith("The model is ")
        first = page.js("review.row.candidates[0].path")
        for done, key in zip((1, 2, 3, 4, 4, 5), "12lns1", strict=True):  # a skipped row is not decided
            press(key, done)
        press("u", 4)
        press("1", 5)
        page.open(address)
        page.until("!document.querySelector('[data-part=review]').hidden")
        page.click("[data-part=review]")
        page.until("$('count').textContent.startsWith('5 of 12') && review.row")
        page.js("document.activeElement.blur()")
        page.press("/")
        page.type("#other", "car")
        page.until("document.querySelectorAll('#others li').length")
        page.press("Enter")
        page.until("$('count').textContent.startsWith('6 of 12')")
    decisions = written()
    assert [kind for kind, _ in decisions] == ["node", "node", "node", "none", "skip", "node", "undo", "node", "node"]
    assert decisions[0] == ("node", first)
    assert decisions[2] == ("node", "pet")
    assert decisions[-1] == ("node", "vehicle > car")
    page.press("1")
    page.until("$('fault').textContent.startsWith('The service does not answer')")
    port = int(address.rpartition(":")[2])
    with running(Service({"toy": toy}, review=Review(queue, feedback)), port=port):
        for done in (7, 8):
            press("1", done)
        page.js("setInterval(() => $('none').click(), 1)")  # many more keys than rows are left
        page.until("$('count').textContent.startsWith('11 of 12') && !review.busy")
    assert len(written()) == len(decisions) + 5
    assert page.faults == []


def test_the_page_asks_for_the_token_and_sends_it_for_images(
    page: Page, models: dict[str, ServedModel], tmp_path: Path
) -> None:
    colour_images(1).open(0).save(tmp_path / "red.png")
    row = {"row": 1, "image": str(tmp_path / "red.png"), "sure": "", "confidence": 0.0, "candidates": [], "settles": ""}
    with running(Service(models, token="secret", review=Review([row], tmp_path / "made.jsonl"))) as address:
        page.open(address)
        page.until("!$('token').hidden")
        page.type("#secret", "secret")
        page.press("Enter")
        page.until("state.facts.name")
        assert page.js("$('token').hidden && $('fault').hidden")
        page.click("[data-part=review]")
        page.type("#who", "ann")
        page.press("Enter")
        page.until("$('asked-image').naturalWidth > 0")
