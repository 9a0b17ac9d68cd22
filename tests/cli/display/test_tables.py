import importlib.util

import pytest

from hiercos.cli.display import tables
from hiercos.cli.options.comparison import ComparisonOptions
from hiercos.cli.options.groups import OptionError
from hiercos.report import comparison_results
from records import record

RECORDS = [record("cross-entropy", hops=0.4), record("hier-cos", hops=0.9), record("hier-cos", rule="crm", hops=0.8)]


def printed_rows(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    lines = capsys.readouterr().out.replace("┃", "│").splitlines()
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]


def test_methods_are_rows_where_there_is_room(capsys: pytest.CaptureFixture[str]) -> None:
    tables.print_results(comparison_results(RECORDS))
    rows = printed_rows(capsys)
    assert [row[0] for row in rows] == [
        *("method", "cross-entropy", "hier-cos", "hier-cos + crm"),
        *("method", "hier-cos", "hier-cos + crm"),
    ]
    assert [row[7] for row in rows] == ["HOPS", "0.400", "0.900 *", "0.800", "HOPS", "+0.500", "+0.400"]
    assert [row[8] for row in rows] == ["top-5 %", *["50.00"] * 3, "top-5 %", *["+0.00"] * 2]


def test_methods_are_columns_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    tables.print_results(comparison_results(RECORDS))
    rows = printed_rows(capsys)
    assert rows[0] == ["method", "cross-entropy", "hier-cos", "hier-cos + crm"]
    assert ["HOPS", "0.400", "0.900 *", "0.800"] in rows
    assert ["HOPS", "+0.500", "+0.400"] in rows


def test_parquet_without_pyarrow_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyarrow" else real(name))
    ComparisonOptions(format="csv").check()
    with pytest.raises(OptionError, match=r"--format parquet needs pyarrow \(pip install 'hiercos\[parquet\]'\)"):
        ComparisonOptions(format="parquet").check()


def test_the_default_goes_by_its_alias_as_a_reference() -> None:
    names = ["cross-entropy", "path-softmax", "path-softmax + crm", "path-softmax + default"]
    found = [ComparisonOptions(reference=name).named_reference(names) for name in ("default", "default+crm", None)]
    assert found == ["path-softmax + default", "path-softmax + crm", None]
