"""Columns as features: what each block gives for known, unknown and missing cells."""

import json
from typing import Any

import numpy as np
import pytest

from hiercos.data import ColumnInputs, column_inputs
from hiercos.encoders.columns import SENTENCES, ColumnFeatures, features_from_state
from hiercos.errors import DataError

KINDS = {"title": "text", "note": "text", "brand": "category", "price": "number", "vec": "vector"}
VECTORS = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)


def rows(**cells: Any) -> ColumnInputs:
    given = {
        "title": [f"red shoe {row}" for row in range(40)],
        "note": [f"size {row % 5}" for row in range(40)],
        "brand": ["Acme"] * 20 + ["Zen"] * 19 + ["Once"],
        "price": [float(row) for row in range(40)],
        "vec": VECTORS,
    }
    return column_inputs({**given, **cells}, KINDS)


def one(**cells: Any) -> ColumnInputs:
    return column_inputs({**{name: [""] for name in KINDS}, **{name: [cell] for name, cell in cells.items()}}, KINDS)


@pytest.fixture(scope="module")
def fitted() -> ColumnFeatures:
    return ColumnFeatures.fit(rows(), {})


def of_block(features: ColumnFeatures, unit: str, row: ColumnInputs) -> np.ndarray:
    (columns,) = (place for block, place in features.slices() if block.unit == unit)
    found: np.ndarray = features.transform(row).toarray()[0, columns] / features.scale(unit)
    return found


def test_a_category_has_a_feature_of_its_own_if_it_is_frequent(fitted: ColumnFeatures) -> None:
    found = [of_block(fitted, "categories", one(brand=brand)).tolist() for brand in ("Acme", "Once", "Never", "")]
    assert found == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]]


def test_a_number_is_standardized_and_shared_by_the_knots_around_it(fitted: ColumnFeatures) -> None:
    found = of_block(fitted, "numbers", one(price=19.5))
    assert found[0] == pytest.approx(0, abs=1e-6)
    assert found[1:-1].sum() == pytest.approx(1)
    assert np.count_nonzero(found[1:-1]) <= 2
    missing = of_block(fitted, "numbers", one())
    assert missing[-1] == 1
    assert not missing[:-1].any()


def test_numbers_with_a_heavy_tail_are_mapped_by_their_quantiles() -> None:
    features = ColumnFeatures.fit(rows(price=np.exp(np.linspace(-8, 8, 40)).tolist()), {})
    ends = [of_block(features, "numbers", one(price=price))[0] for price in (0.0, 1.0, 1e9)]
    np.testing.assert_allclose(ends, [-2.2, 0, 2.2], atol=0.3)


def test_vectors_are_centred_and_of_length_one_on_average(fitted: ColumnFeatures) -> None:
    (columns,) = (place for block, place in fitted.slices() if block.unit == "vec")
    found = fitted.transform(rows()).toarray()[:, columns]
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-6)
    assert np.square(found).sum(axis=1).mean() == pytest.approx(1, rel=1e-5)
    assert of_block(fitted, "vec", one()).tolist() == [0, 0, 0, 1]
    with pytest.raises(DataError, match="'vec': expected vectors of 3 numbers, got 2"):
        fitted.transform(one(vec=[1, 2]))


def test_features_of_a_backbone_are_found_again_from_the_vectors() -> None:
    inputs, embedded = rows(), VECTORS.copy()
    embedded[3] = np.nan
    features = ColumnFeatures.fit(inputs, {SENTENCES: embedded}, {SENTENCES: 2.0})
    again = features.embedded(features.transform(inputs, {SENTENCES: embedded}))
    assert [*again] == [SENTENCES]
    np.testing.assert_allclose(again[SENTENCES], embedded, atol=1e-5)


def test_the_parts_of_a_row_are_named_by_their_column(fitted: ColumnFeatures) -> None:
    row = one(title="red shoe 7", note="size red", brand="Acme", price=3)
    parts, shares = fitted.words(row)
    assert {"title: shoe", "title: red", "note: red", "brand: Acme", "price: 3", "vec"} <= {*parts}
    there = np.flatnonzero(fitted.transform(row).toarray()[0])
    totals = np.asarray(shares[there].sum(axis=1)).ravel()
    assert (np.isclose(totals, 1) | np.isclose(totals, 0)).all()  # those of two columns together belong to none


def test_columns_without_texts_are_dense() -> None:
    own = {name: kind for name, kind in KINDS.items() if kind != "text"}
    inputs = ColumnInputs({name: rows().cells[name] for name in own}, own)
    assert ColumnFeatures.fit(inputs, {}).is_dense
    assert not ColumnFeatures.fit(rows(), {}).is_dense


def test_the_state_gives_the_same_features(fitted: ColumnFeatures) -> None:
    values, arrays = fitted.state()
    again = features_from_state(json.loads(json.dumps(values)), arrays)
    assert isinstance(again, ColumnFeatures)
    assert (again.transform(rows()) != fitted.transform(rows())).nnz == 0
    assert again.columns == KINDS


@pytest.mark.parametrize(
    "change",
    [
        {"columns": {"title": "texts"}},
        {"columns": {"title": "group"}},
        {"scales": {"title": "nan"}},
        {"blocks": [{"kind": "other", "columns": ["title"]}]},
        {"blocks": [{"kind": "category", "columns": ["unknown"], "categories": []}]},
        {"blocks": [{"kind": "number", "columns": ["price"]}]},
    ],
)
def test_a_state_that_a_stranger_wrote_is_checked(fitted: ColumnFeatures, change: dict[str, Any]) -> None:
    values, arrays = fitted.state()
    with pytest.raises(DataError):
        features_from_state({**values, **change}, arrays)
