import pytest

from hiercos.cli.display import row_progress as checking


def test_a_line_is_told_every_ten_seconds(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 4.0, 11.0, 11.0, 15.0, 22.0, 22.0])
    monkeypatch.setattr(checking.time, "monotonic", lambda: next(times))
    tell = checking.checking_lines()
    assert tell is not None
    for done in (1024, 2048, 3072, 4000):
        tell(done, 4000)
    assert capsys.readouterr().err == "checked 2,048 of 4,000 images\nchecked 4,000 of 4,000 images\n"


def test_only_the_first_process_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    assert checking.checking_lines() is None
