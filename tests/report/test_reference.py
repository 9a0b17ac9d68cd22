import pytest

from hiercos.report import best_flat_variant, checked_reference, summarize
from hiercos.report.results import ReferenceVariantError
from records import record

NAMES = ["cross-entropy", "cross-entropy + crm", "hier-cos"]


def test_a_reference_is_a_method_or_a_method_and_a_rule() -> None:
    assert checked_reference("hier-cos", NAMES) == "hier-cos"
    assert checked_reference(" cross-entropy+crm", NAMES) == "cross-entropy + crm"


def test_a_wrong_reference_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ReferenceVariantError, match=r"--reference hier-cos \+ crm: .*; did you mean 'hier-cos'\?"):
        checked_reference("hier-cos + crm", ["hier-cos", "hxe"])
    with pytest.raises(ReferenceVariantError, match="there are: cross-entropy, cross-entropy \\+ crm, hier-cos"):
        checked_reference("zzz", NAMES)


def test_the_best_flat_variant_is_the_most_accurate_without_tree_and_rule() -> None:
    records = [
        record("cross-entropy", top1=0.8),
        record("cross-entropy-mlp", top1=0.9),
        record("cross-entropy-mlp", rule="crm", top1=0.95),
        record("hier-cos", top1=0.99),
    ]
    variant = best_flat_variant(summarize(records))
    assert variant is not None
    assert variant.name == "cross-entropy-mlp"
    assert best_flat_variant(summarize(records[3:])) is None
