"""Committees: their weights, their training and the members of the default."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from hiercos import Taxonomy
from hiercos.methods import METHODS, LabelledFeatures, MethodError, Model
from hiercos.methods.committee import mixture_log_probabilities
from hiercos.methods.linear.logistic import held_out_loss, log_probabilities
from hiercos.training.committee import candidates as candidates_module
from hiercos.training.committee import fit as fit_module
from hiercos.training.committee import members as members_module
from hiercos.training.committee.candidates import pays, while_they_pay
from hiercos.training.committee.costs import training_cost
from hiercos.training.committee.fit import fit_committee
from hiercos.training.committee.members import Candidate, CommitteeTraining
from hiercos.training.committee.pooling import FirstShare, best_inverse, own_logs, pool_weights, pooled_loss
from hiercos.training.committee.runs import MemberRuns
from solving import data, runs, solved
from trees import TOY17


def test_pooled_scores_are_at_least_as_good_as_the_best_alone_and_no_grid_finds_better() -> None:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 4, 400)
    tables = [3 * np.eye(4)[labels] + generator.normal(size=(400, 4)) * noise for noise in (2.0, 2.5, 30.0)]
    weights, loss = pool_weights(tables, labels)
    assert loss < min(best_inverse(table, labels)[1] for table in tables)
    assert (weights >= 0).all()
    assert weights[2] < 0.1 * weights[0]
    grid = np.linspace(0, 2, 21)
    best = min(held_out_loss(a * tables[0] + b * tables[1], labels) / 400 for a in grid for b in grid)
    assert loss < best + 0.003


def test_with_a_first_share_a_sure_mistake_costs_the_other_member_little_weight_and_no_grid_finds_better() -> None:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 4, 400)
    linear, wide = (3 * np.eye(4)[labels] + generator.normal(size=(400, 4)) * noise for noise in (2.5, 1.5))
    surprised = wide.copy()
    surprised[0] = -200 * np.eye(4)[labels[0]]
    first = FirstShare(1 / 401, own_logs(log_probabilities(linear), labels))
    clean = pool_weights([linear, wide], labels, first)
    robust = pool_weights([linear, surprised], labels, first)
    fragile = pool_weights([linear, surprised], labels)
    assert robust.weights[1] > 0.8 * clean.weights[1]
    assert fragile.weights[1] < 0.5 * clean.weights[1]
    grid = np.linspace(0, 2, 21)
    best = min(pooled_loss(a * linear + b * surprised, labels, first) / 400 for a in grid for b in grid)
    assert robust.loss < best + 0.003


def test_a_committee_is_the_weighted_sum_of_its_members() -> None:
    train, val = data(TOY17, 340), data(TOY17, 120, seed=1)
    model, found = solved("flat-committee", TOY17, train, val, size=2, width=16)
    expected = sum(
        weight * member.array_scores(val.features)
        for weight, member in zip(model.head.weights.numpy(), model.head.members, strict=True)
    )
    np.testing.assert_allclose(model.array_scores(val.features), expected, rtol=1e-4, atol=1e-4)
    assert found.options["members"] == ["cross-entropy-mlp"] * len(model.head.members)


def test_a_mixture_is_that_of_the_probabilities_and_bounds_the_loss_of_a_sure_mistake() -> None:
    pooled, first = (
        torch.tensor([[500.0, 0.0, -500.0], [1.0, 2.0, 3.0]]),
        torch.tensor([[0.0, 2.0, 1.0], [3.0, 1.0, 2.0]]),
    )
    found = mixture_log_probabilities(pooled, first, 0.01)
    expected = 0.99 * pooled.double().softmax(dim=1) + 0.01 * first.double().softmax(dim=1)
    torch.testing.assert_close(found.double(), expected.log(), rtol=1e-5, atol=1e-5)
    assert found[0, 1] > -6  # 0.01 of 0.67, where the committee alone has e^-500


def test_the_linear_head_of_a_committee_with_wide_heads_has_a_share_of_its_own() -> None:
    train, val = data(TOY17, 680), data(TOY17, 120, seed=1)
    model, found = solved("committee", TOY17, train, val, width=16)
    assert model.head.models()[0].method == "tree-logistic"
    assert found.options["first_share"] == 1 / 121
    members = [torch.tensor(member.array_scores(val.features)) for member in model.head.models()]
    pooled = sum(weight * scores for weight, scores in zip(model.head.weights, members, strict=True))
    expected = (120 * pooled.softmax(dim=1) + members[0].softmax(dim=1)) / 121
    scores = torch.tensor(model.array_scores(val.features))
    torch.testing.assert_close(scores.exp(), expected, rtol=1e-4, atol=1e-6)


def test_the_share_stays_when_members_are_trained_again_on_all_samples() -> None:
    model, found = solved("committee", TOY17, data(TOY17, 1020), None, width=16)
    assert "cross-entropy-mlp" in found.options["members"]
    held_out = 1020 / 7
    assert found.options["first_share"] == model.head.first_share == pytest.approx(1 / (held_out + 1), rel=0.1)


def test_a_linear_head_without_weight_stays_for_its_share() -> None:
    train, val = data(TOY17, 340), data(TOY17, 5000, seed=1)
    head = Model(TOY17, train.features.shape[1], "committee", {"width": 16}).head
    training = CommitteeTraining(head, train, [(train, val)], val, runs())
    linear, wide = training.trained("tree-logistic", 0), training.trained("cross-entropy-mlp", 1)
    noise = np.random.default_rng(0).normal(size=wide.scores.shape)
    useless = replace(linear, scores=wide.scores + noise)  # knows nothing that the wide head does not know better
    found = training.pooled([useless, wide])
    assert found.options == {"members": ["tree-logistic", "cross-entropy-mlp"], "dim": None, "first_share": 1 / 5001}
    assert head.weights[0] == 0


@pytest.mark.parametrize("share", [-0.5, 1.0, 1.5])
def test_a_share_outside_its_range_is_refused(share: float) -> None:
    with pytest.raises(MethodError, match=f"expected a first_share from 0 to less than 1, got {share}"):
        Model(TOY17, 12, "committee", {"first_share": share})


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_the_default_names_its_members_and_is_built_again_from_its_options(is_sparse: bool) -> None:
    train, val = data(TOY17, 680), data(TOY17, 500, seed=1)
    if is_sparse:
        train, val = sparse(train), sparse(val)
    model, found = solved("committee", TOY17, train, val, width=16)
    assert set(found.options["members"]) <= set(METHODS)
    named = re.sub(r" \([^)]*\)", "", found.choice).split(": ")[0].split(", ")
    assert named == found.options["members"]
    again = Model(TOY17, train.features.shape[1], "committee", model.options)
    again.load_state_dict(model.state_dict())
    np.testing.assert_array_equal(again.array_scores(val.features), model.array_scores(val.features))


def sparse(part: LabelledFeatures) -> LabelledFeatures:
    return LabelledFeatures(csr_matrix(np.maximum(part.features, 0)), part.labels)


@pytest.mark.parametrize(
    ("effort", "room", "expected"),
    [
        ("quick", 0, ["siblings", "centroids"]),
        ("normal", 0, ["siblings", "centroids", "tree-logistic"]),
        ("normal", -1, ["siblings", "centroids"]),
        ("best", -1, ["siblings", "centroids", "tree-logistic", "linear-svm", *["cross-entropy-mlp"] * 2]),
    ],
)
def test_sparse_samples_have_heads_along_the_tree_and_one_over_all_classes_while_it_is_small(
    effort: str, room: int, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    train, val = sparse(data(TOY17, 680)), sparse(data(TOY17, 500, seed=1))
    monkeypatch.setattr(candidates_module, "MOST_SHORT_WEIGHTS", train.features.shape[1] * 17 + room)
    tried: list[str] = []
    fitted = CommitteeTraining._fitted

    def remembered(self: CommitteeTraining, members: list[Model], *arguments: Any, **options: Any) -> Candidate:
        tried.append(members[0].method)
        return fitted(self, members, *arguments, **options)

    monkeypatch.setattr(CommitteeTraining, "_fitted", remembered)
    monkeypatch.setattr(MemberRuns, "train", lambda *_, **__: None)
    model = Model(TOY17, train.features.shape[1], "committee", {"effort": effort, "width": 16})
    fit_committee(model.head, train, val, runs())
    assert tried[: len(expected)] == expected
    assert (len(tried) > len(expected)) == (effort == "best")
    assert (model.head.projection is None) == (effort != "best")


def test_siblings_learn_from_inner_nodes_beside_the_other_heads() -> None:
    train, val = sparse(data(TOY17, 680)), sparse(data(TOY17, 500, seed=1))
    above = TOY17.parents[TOY17.leaves[train.labels]]
    vague = (np.arange(680) % 2 == 0) & (above >= 0)
    mixed = LabelledFeatures(train.features, np.where(vague, TOY17.num_classes + above, train.labels))
    known = train.rows(~vague)
    model, _ = solved("committee", TOY17, mixed, val, effort="quick")
    members = {member.method: member for member in model.head.models()}
    for name, learned in (("siblings", mixed), ("centroids", known)):
        alone, _ = solved(name, TOY17, learned, val)
        np.testing.assert_array_equal(members[name].array_scores(val.features), alone.array_scores(val.features))


def test_with_few_validation_samples_flat_heads_learn_from_all_samples_and_others_hold_out_each_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train, val = data(TOY17, 680), data(TOY17, 60, seed=1)
    seen: list[tuple[str, np.ndarray, np.ndarray | None]] = []

    def remembered_steps(
        _: MemberRuns,
        member: Model,
        learned: LabelledFeatures,
        held_out: LabelledFeatures | None,
        *,
        name: str,
        epochs: int | None,
    ) -> None:
        seen.append((name, learned.features, None if held_out is None else held_out.features))

    monkeypatch.setattr(MemberRuns, "train", remembered_steps)
    model = Model(TOY17, train.features.shape[1], "committee", {"width": 16})
    fit_committee(model.head, train, val, runs())
    methods = ["cross-entropy-mlp", "cross-entropy-mlp", "barz-denzler", "haframe", "hier-cos"]
    assert [name for name, _, _ in seen] == [
        f"member {member} of 6 ({method}), model {part} of 3"
        for member, method in enumerate(methods, 2)
        for part in (1, 2, 3)
    ]
    for _, learned, held_out in seen[:6]:  # with a fixed number of epochs
        assert held_out is None
        np.testing.assert_array_equal(learned, train.features)
    for head in (seen[6:9], seen[9:12], seen[12:]):
        parts = [held_out for _, _, held_out in head if held_out is not None]
        for (_, learned, _), held_out in zip(head, parts, strict=True):
            np.testing.assert_array_equal(sorted_rows(learned, held_out), sorted_rows(train.features))
        np.testing.assert_array_equal(sorted_rows(*parts), sorted_rows(train.features))


@pytest.mark.parametrize(("limit", "expected"), [(680, 15), (679, None)])
def test_flat_heads_of_many_samples_are_stopped_by_validation(
    limit: int, expected: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members_module, "MOST_FIXED", limit)
    train, val = data(TOY17, 680), data(TOY17, 600, seed=1)
    seen: list[int | None] = []

    def no_steps(*_: object, name: str, epochs: int | None) -> None:
        seen.append(epochs)

    monkeypatch.setattr(MemberRuns, "train", no_steps)
    model = Model(TOY17, train.features.shape[1], "flat-committee", {"size": 2, "width": 4})
    fit_committee(model.head, train, val, runs())
    assert seen == [expected] * 2


def test_without_validation_a_class_whose_only_sample_is_held_out_has_no_say_in_the_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train = data(TOY17, 680)
    once = np.flatnonzero(train.labels == 3)[0]
    rare = train.rows((train.labels != 3) | (np.arange(680) == once))
    held_out = rare.labels == 3
    held_out[:90] = True
    monkeypatch.setattr(fit_module, "folds", lambda *_: [held_out])
    seen: list[np.ndarray] = []
    weigh = members_module.pool_weights

    def remembered(scores: list[np.ndarray], labels: np.ndarray, first: FirstShare | None) -> Any:
        seen.append(labels)
        return weigh(scores, labels, first)

    monkeypatch.setattr(members_module, "pool_weights", remembered)
    solved("flat-committee", TOY17, rare, None, size=2, width=4)
    assert {len(labels) for labels in seen} == {int(held_out.sum()) - 1}
    assert 3 not in seen[0]


def test_of_many_validation_samples_and_classes_a_part_spread_over_the_classes_weighs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train, val = sparse(data(TOY17, 340)), sparse(data(TOY17, 340, seed=1))
    monkeypatch.setattr(fit_module, "MOST_SCORES", 170 * 17)
    seen: list[np.ndarray] = []
    monkeypatch.setattr(members_module, "pool_weights", lambda _, labels, __: seen.append(labels) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        solved("committee", TOY17, train, val, effort="quick")
    assert len(seen[0]) == 170
    whole, part = np.bincount(val.labels, minlength=17), np.bincount(seen[0], minlength=17)
    assert np.abs(part - whole / 2).max() <= 1


def sorted_rows(*tables: np.ndarray) -> np.ndarray:
    return np.unique(np.concatenate(tables), axis=0)


def test_a_solved_member_joins_as_it_is_solved_alone() -> None:
    train, val = data(TOY17, 340), data(TOY17, 60, seed=1)
    model, found = solved("committee", TOY17, train, val)
    alone, _ = solved("tree-logistic", TOY17, train, val)
    assert found.options["members"] == ["tree-logistic"]
    weight = model.head.weights.numpy()
    np.testing.assert_allclose(model.array_scores(val.features), weight * alone.array_scores(val.features), rtol=1e-5)


def test_the_quick_default_trains_no_wide_head() -> None:
    model = Model(TOY17, 8, "committee", {"effort": "quick"})
    train = data(TOY17, 680)
    train = LabelledFeatures(train.features[:, :8], train.labels)
    solution = fit_committee(model.head, train, None, runs())
    assert solution.options["members"] == ["tree-logistic"]


@pytest.mark.parametrize(("effort", "trained", "total"), [("normal", 2, "at most 6"), ("best", 10, "11")])
def test_after_two_wide_heads_in_vain_only_the_best_effort_trains_more(
    effort: str, trained: int, total: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, val = data(TOY17, 680), data(TOY17, 500, seed=1)
    seen: list[str] = []

    def no_steps(_: MemberRuns, member: Model, *__: object, name: str, epochs: int | None) -> None:
        assert name == f"member {len(seen) + 2} of {total} ({member.method})"
        seen.append(member.method)  # the head stays random, so that it cannot help

    monkeypatch.setattr(MemberRuns, "train", no_steps)
    model = Model(TOY17, train.features.shape[1], "committee", {"effort": effort, "width": 16})
    found = fit_committee(model.head, train, val, runs())
    assert len(seen) == trained
    assert seen[:2] == ["cross-entropy-mlp"] * 2
    if effort == "normal":
        assert re.fullmatch(
            r"tree-logistic \(variance of the weights .*\): log-loss \d\.\d{4} on validation, in turn tree-logistic "
            r"\d\.\d{4} \(cost \S+, \d+\.\d s\)(, cross-entropy-mlp [-+]\d\.\d{4} \(cost \S+, \d+\.\d s\)){2}; "
            r"tried and left out: cross-entropy-mlp, cross-entropy-mlp",
            found.choice,
        )


@pytest.mark.parametrize(("graph", "tree_head"), [(False, "barz-denzler"), (True, "hier-cos")])
def test_a_tree_head_and_two_flat_ones_follow_the_first_two(
    graph: bool, tree_head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates_module, "pays", lambda *_: True)
    taxonomy = Taxonomy.from_edges([("a", "x"), ("b", "x"), ("b", "y"), ("a", "z")]) if graph else TOY17
    random = np.random.default_rng(0)
    train, val = (
        LabelledFeatures(random.normal(size=(count, 6)).astype(np.float32), np.arange(count) % taxonomy.num_classes)
        for count in (680, 500)
    )
    seen: list[str] = []

    def no_steps(_: MemberRuns, member: Model, *__: object, name: str, epochs: int | None) -> None:
        seen.append(member.method)

    monkeypatch.setattr(MemberRuns, "train", no_steps)
    model = Model(taxonomy, train.features.shape[1], "committee", {"width": 16})
    fit_committee(model.head, train, val, runs())
    assert seen == [*["cross-entropy-mlp"] * 2, tree_head, *["cross-entropy-mlp"] * 2]


def test_heads_follow_until_two_in_a_row_do_not_pay() -> None:
    train, val = data(TOY17, 680), data(TOY17, 500, seed=1)
    table, noise = 3 * np.eye(TOY17.num_classes)[val.labels], np.random.default_rng(0).normal
    useless = [np.zeros_like(table)]
    given = [*[table + noise(size=table.shape) * 2 for _ in range(3)], *useless, table + noise(size=table.shape) * 2]
    model = Model(TOY17, train.features.shape[1], "flat-committee", {})
    training = CommitteeTraining(model.head, train, [(train, val)], val, runs())
    first, *others = (Candidate([model], scores, 1.0, 0.0) for scores in [*given, *useless * 3])
    heads = iter(others)
    kept = while_they_pay(training, [first], heads)
    assert [id(each) for each in kept] == [id(each) for each in (first, others[0], others[1], others[3])]
    assert len(list(heads)) == 1


@pytest.mark.parametrize(("gain", "expected"), [(0.0101, True), (0.0099, False)])
def test_a_member_pays_if_it_saves_half_a_percent_of_the_loss_for_each_doubling_of_the_cost(
    gain: float, expected: bool
) -> None:
    assert pays(2.0, 2.0 * (1 - gain), 10.0, 30.0) == expected  # two doublings


def test_the_cost_of_a_member_is_counted_by_entries_and_outputs() -> None:
    labels = np.array([0, TOY17.num_classes])  # a class, and an inner node of level 1
    rows = LabelledFeatures(csr_matrix(np.float32([[1, 0, 2, 3], [0, 4, 0, 0]])), labels)
    families = [int((TOY17.parents == TOY17.parents[node]).sum()) for node in TOY17.path(int(TOY17.leaves[0]))]
    level_1 = int((TOY17.parents == -1).sum())
    expected = {"siblings": 100 * (3 * sum(families) + level_1), "centroids": 4, "tree-logistic": 250 * 4 * 17}
    assert {name: training_cost(Model(TOY17, 4, name), rows) for name in expected} == expected
    short = Model(TOY17, 4, "tree-logistic", {"variance": 1.0, "steps": 10})
    assert training_cost(short, rows) == 2 * 10 * 4 * 17
    wide = Model(TOY17, 4, "cross-entropy-mlp", {"width": 8})
    parameters = sum(each.numel() for each in wide.parameters())
    assert training_cost(wide, LabelledFeatures(rows.features.toarray(), labels)) == pytest.approx(9 * 2 * parameters)


def test_samples_of_inner_nodes_alone_are_refused() -> None:
    train = data(TOY17, 60)
    inner = LabelledFeatures(train.features, np.full(60, TOY17.num_classes))  # the first node
    model = Model(TOY17, train.features.shape[1], "committee", {})
    with pytest.raises(MethodError, match="every training sample is labelled with an inner node: expected some"):
        fit_committee(model.head, inner, None, runs())
