import json
import os

from hiercos.cli.display.output import fiftyone_text


def test_a_label_stands_for_each_image_by_its_absolute_path() -> None:
    row = {"row": 1, "image": "photos/a.jpg", "kind": "pet", "level_2": "cat", "level_3": "", "class": "cat"}
    rows = [{**row, "id": "c1", "score": -0.5, "confidence": 0.9}]
    assert json.loads(fiftyone_text(rows)) == {
        "labels": {
            os.path.abspath("photos/a.jpg"): {
                "label": "cat",
                "confidence": 0.9,
                "attributes": {"kind": "pet", "level_2": "cat", "id": "c1"},
            }
        }
    }
