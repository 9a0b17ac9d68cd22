"""scikit-learn's own checks of estimators; docs/scikit-learn.md lists those that are expected to fail."""

from typing import Any

from sklearn.utils.estimator_checks import check_classifiers_train, parametrize_with_checks

from hiercos import HierarchicalClassifier, HierCOSClassifier

NOT_THE_SAME_STEPS = (
    "training is by random batches of one size, so a sample of weight 2 is not the same steps as two samples"
)
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": NOT_THE_SAME_STEPS,
    "check_sample_weight_equivalence_on_sparse_data": NOT_THE_SAME_STEPS,
}


@parametrize_with_checks(
    [HierarchicalClassifier(epochs=10), HierCOSClassifier(epochs=10)], expected_failed_checks=lambda _: EXPECTED
)
def test_the_check_passes(estimator: Any, check: Any) -> None:
    if check.func is check_classifiers_train:
        estimator.set_params(epochs=None)  # as many as held-out samples ask for, where the check asks for accuracy
    check(estimator)
