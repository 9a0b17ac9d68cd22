"""Tables of crosswalks, proposals by name, and recoded labels."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.errors import DataError, UnknownLabelError
from hiercos.evaluation import Recoder, read_crosswalk, similar_names, sure_rows

OLD = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("pet", "bird")])
NEW = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("bird", "finch"), ("bird", "parrot")])
FINCH, PARROT, DOG = (NEW.names.index(name) for name in ("finch", "parrot", "dog"))
BIRD = OLD.names.index("bird")


def written(tmp_path: Path, *lines: str) -> Path:
    (tmp_path / "map.csv").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path / "map.csv"


def test_a_table_gives_links_with_weights_and_leaves_proposals_and_new_nodes_out(tmp_path: Path) -> None:
    lines = ("bird,finch,3,", "bird,parrot,,", "dog,,,gone", "cat,dog,,proposed", ",parrot,,new")
    table = read_crosswalk(written(tmp_path, "old,new,weight,change", *lines))
    assert table.links(OLD, NEW) == {BIRD: [(FINCH, 3.0), (PARROT, 1.0)], OLD.names.index("dog"): []}


def test_faults_of_a_table_are_named_by_row(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"map.csv: row 2: expected a weight above 0, got '-1'"):
        read_crosswalk(written(tmp_path, "old,new,weight", "bird,finch,-1"))
    with pytest.raises(DataError, match=r"map.csv: expected at least one row with an old node"):
        read_crosswalk(written(tmp_path, "old,new", ",finch"))
    table = read_crosswalk(written(tmp_path, "old,new", "bird,finch", "bird,parot"))
    with pytest.raises(UnknownLabelError, match=r"map.csv: row 3: unknown label 'parot'"):
        table.links(OLD, NEW)


def test_names_that_share_most_letters_are_proposed_the_most_similar_first() -> None:
    old = Taxonomy.from_paths([("red roses",), ("oak",)])
    new = Taxonomy.from_paths([("rose, red",), ("red rose",), ("birch",)])
    links = similar_names(old, new, [0, 1])
    assert [(link.old, new.names[link.new]) for link in links] == [(0, "red rose"), (0, "rose, red")]
    scores = [link.score or 0 for link in links]
    assert scores[0] >= scores[1] >= 0.5


def test_a_row_gets_its_likeliest_candidate(tmp_path: Path) -> None:
    recoder = Recoder(read_crosswalk(written(tmp_path, "old,new", "pet > bird,finch", "pet > bird,parrot")), NEW)
    candidates = recoder.candidates("bird", "row 2")
    assert recoder.candidates("pet>bird", "row 2") == candidates
    first, second = (recoder.recoded(np.array(row), candidates) for row in ([0.5, 0.1, 0.1, 0.3], [1.0, 0, 0, 0]))
    assert (first.node, round(first.probability, 6), first.others) == (PARROT, 0.75, (FINCH,))
    assert (second.node, second.probability) == (FINCH, 0.5)  # impossible for the model: the weights decide
    with pytest.raises(DataError, match=r"row 9: expected an old label of .*map.csv, got 'brid'; did you mean 'bird'"):
        recoder.candidates("brid", "row 9")


def test_a_label_that_is_gone_gets_the_likeliest_class(tmp_path: Path) -> None:
    recoder = Recoder(read_crosswalk(written(tmp_path, "old,new", "fish,")), NEW)
    found = recoder.recoded(np.array([0.2, 0.6, 0.1, 0.1]), recoder.candidates("fish", ""))
    assert (found.node, round(found.probability, 6), found.others) == (DOG, 0.6, ())


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0, 1))
def test_sure_rows_are_as_many_of_the_surest_as_keep_the_mean(values: list[float], target: float) -> None:
    probabilities = np.array(values)
    mask = sure_rows(probabilities, target)
    ordered = np.sort(probabilities)[::-1]
    counts = [count for count in range(1, len(values) + 1) if ordered[:count].mean() >= target - 1e-9]
    assert abs(int(mask.sum()) - max(counts, default=0)) <= (0 if target not in (0, 1) else len(values))
    if mask.any() and not mask.all():
        assert probabilities[mask].min() >= probabilities[~mask].max()
