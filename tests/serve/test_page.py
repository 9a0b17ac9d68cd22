"""The page in a real browser; skipped where Chromium is not installed (Debian: `apt-get install chromium`)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from browsers import BROWSER, Page, browser_page
from colours import colour_images
from hiercos.serve import Limits, ServedModel, Service, served_model
from onnx_exports import of_images, of_vectors
from serving import running, write_rows

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
    assert "held-out rows at 50%" in page.text("#measured")
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


def test_the_page_asks_for_the_token(page: Page, models: dict[str, ServedModel]) -> None:
    with running(Service(models, token="secret")) as address:
        page.open(address)
        page.until("!$('token').hidden")
        page.type("#secret", "secret")
        page.press("Enter")
        page.until("state.facts.name")
        assert page.js("$('token').hidden && $('fault').hidden")
