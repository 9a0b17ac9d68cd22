from pathlib import Path

from hiercos.report import write_curve_figure


def test_the_figure_has_a_line_for_each_rule_and_needs_nothing_from_the_network(tmp_path: Path) -> None:
    rows = [
        {"rule": rule, "coverage": at, "precision": 1 - at / 4, "precision_low": 0.7, "precision_high": 1.0}
        for rule in ("back-off", "<b>majority")
        for at in (1.0, 0.5, 0.75)
    ]
    assert write_curve_figure(rows, tmp_path / "curve.html") == f"The figure is {tmp_path / 'curve.html'}."
    text = (tmp_path / "curve.html").read_text()
    assert "&lt;b&gt;majority" in text
    assert 'stroke-width="2.2"' in text
    assert text.count('stroke-width="1.2"') == 6  # an interval for each point
    assert "http" not in text
