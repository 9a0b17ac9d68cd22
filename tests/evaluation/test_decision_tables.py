"""Classes, weights and costs that tables give."""

from pathlib import Path

import numpy as np
import pytest

from hiercos import Taxonomy
from hiercos.decisions import Posterior, PosteriorError, rule
from hiercos.errors import DataError
from hiercos.evaluation import read_costs, read_row_nodes, read_row_priors
from trees import TOY

EVEN = Posterior(np.full((2, 3), 1 / 3), TOY)


def test_a_column_names_the_nodes_of_each_row(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text,region\na,pet\nb,cat; vehicle > car\nc,\n")
    weights = read_row_nodes(tmp_path / "in.csv", "region", TOY)
    found = weights.applied(Posterior(np.full((3, 3), 1 / 3), TOY), [2, 3, 4])
    np.testing.assert_allclose(found.classes, [[0.5, 0.5, 0], [0.5, 0, 0.5], [1 / 3, 1 / 3, 1 / 3]])


def test_priors_multiply_and_a_class_without_a_line_has_none(tmp_path: Path) -> None:
    (tmp_path / "prior.csv").write_text("row,label,weight\n2,cat,3\n2,dog,1\n")
    found = read_row_priors(tmp_path / "prior.csv", TOY).applied(EVEN, [2, 3])
    np.testing.assert_allclose(found.classes, [[0.75, 0.25, 0], [1 / 3, 1 / 3, 1 / 3]])


def test_rows_without_a_class_and_bad_numbers_are_named(tmp_path: Path) -> None:
    (tmp_path / "prior.csv").write_text("row,label,weight\n3,cat,0\n")
    with pytest.raises(PosteriorError, match=r"prior.csv: row 3: no class is left"):
        read_row_priors(tmp_path / "prior.csv", TOY).applied(EVEN, [2, 3])
    (tmp_path / "prior.csv").write_text("row,label,weight\n3,cat,-1\n")
    with pytest.raises(DataError, match=r"prior.csv: row 2: expected a number of at least 0, got '-1'"):
        read_row_priors(tmp_path / "prior.csv", TOY)
    (tmp_path / "in.csv").write_text("text,region\na,fish\n")
    with pytest.raises(DataError, match=r"in.csv: row 2: unknown label 'fish'"):
        read_row_nodes(tmp_path / "in.csv", "region", TOY)


def test_a_table_of_costs_may_name_classes_nodes_and_the_root(tmp_path: Path) -> None:
    (tmp_path / "costs.csv").write_text("answer,cat,dog,car\ncat,0,5,9\npet,1,1,9\n,2,2,2\ncar,9,9,0\n")
    costs = read_costs(tmp_path / "costs.csv", TOY)
    posterior = Posterior([[0.9, 0.05, 0.05], [0.45, 0.45, 0.1], [0.3, 0.3, 0.4], [0, 0, 1.0]], TOY)
    assert costs(posterior).nodes.tolist() == [2, 0, -1, 4]
    assert costs == rule("costs", answers=[2, 0, -1, 4], costs=[[0, 5, 9], [1, 1, 9], [2, 2, 2], [9, 9, 0]])
    (tmp_path / "costs.csv").write_text("answer,cat,dog,car\ncat,0,x,9\n")
    with pytest.raises(DataError, match=r"costs.csv: row 2: expected a number as cost, got 'x'"):
        read_costs(tmp_path / "costs.csv", TOY)
    (tmp_path / "costs.csv").write_text("answer,cat,dog,car\n,0,1,9\nfish,0,1,9\n")
    with pytest.raises(DataError, match=r"costs.csv: row 3: unknown label 'fish'"):
        read_costs(tmp_path / "costs.csv", TOY)


def test_classes_of_the_same_name_have_their_paths_as_columns(tmp_path: Path) -> None:
    twins = Taxonomy.from_paths([("a", "x"), ("b", "x")])
    (tmp_path / "costs.csv").write_text("answer,a > x,b > x\na > x,0,1\nb > x,1,0\n")
    assert read_costs(tmp_path / "costs.csv", twins)(Posterior([[0.4, 0.6]], twins)).classes.tolist() == [1]
