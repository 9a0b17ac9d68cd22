"""The examples of docs/taxonomies.md are read as the page says."""

import re
from pathlib import Path

import pytest

from hiercos import Taxonomy
from trees import TOY

PAGE = Path(__file__).parents[2] / "docs" / "taxonomies.md"
EXAMPLES = dict(re.findall(r'```\w+ title="(\S+)"\n(.*?)```', PAGE.read_text(encoding="utf-8"), flags=re.DOTALL))


@pytest.mark.parametrize(
    ("name", "classes", "ids"),
    [
        ("levels.csv", ("lion", "tiger", "sponges", "plant"), ()),
        ("codes.csv", ("Cholera", "Typhoid fever", "Malignant neoplasm of lip"), ("", "", "A00", "A01", "C00")),
        ("numbered.csv", ("Apple", "Pear", "Tools"), ("06", "07", "06.10", "06.20")),
        ("edges.csv", TOY.class_names, ()),
        ("lines.txt", TOY.class_names, ()),
        ("objects.json", TOY.class_names, ()),
        ("nodes.json", ("dog", "cat", "vehicle"), ("", "", "c1", "")),
        ("arrays.json", TOY.class_names, ()),
        ("tree.yaml", TOY.class_names, ()),
        ("tree.nwk", TOY.class_names, ()),
    ],
)
def test_an_example_of_the_page_is_read_as_it_says(
    tmp_path: Path, name: str, classes: tuple[str, ...], ids: tuple[str, ...]
) -> None:
    (tmp_path / name).write_text(EXAMPLES[name], encoding="utf-8")
    taxonomy = Taxonomy.read(tmp_path / name)
    assert (taxonomy.class_names, taxonomy.ids) == (classes, ids)


def test_every_example_of_the_page_is_tested() -> None:
    assert len(EXAMPLES) == 10
