from pathlib import Path

import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

from byte_changes import outcomes, stored_things


def test_a_changed_byte_is_refused_or_harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for stored in stored_things(tmp_path, monkeypatch.setenv):
        found = outcomes(stored, 25, seed=0)
        assert found.keys() <= {"refused", "harmless"}, (stored.name, found)
        assert found["refused"] + (25 if stored.name == "feature cache" else 0) > 12, (
            stored.name
        )  # a cache heals itself
