from hiercos.report import Statement, Verdict, read_statements

SHIP = Statement("ship", "top-1 50%.", subject="Ship a", reason="It ties with none.")
NOTE = Statement("note", "Ship nothing else.")  # what it begins with does not matter


def test_statements_are_lines_of_text_and_are_found_by_kind() -> None:
    verdict = Verdict((NOTE, SHIP))
    assert str(verdict) == "Ship nothing else.\nShip a: top-1 50%. It ties with none."
    assert verdict.of_kinds("ship", "rule") == [SHIP]


def test_statements_survive_a_file_and_older_files_have_notes() -> None:
    assert read_statements([SHIP.to_dict(), NOTE.to_dict()], "") == (SHIP, NOTE)
    assert read_statements([], "Ship a: near.\nTo train it: b") == (
        Statement("note", "Ship a: near."),
        Statement("note", "To train it: b"),
    )
