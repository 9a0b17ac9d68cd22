import numpy as np
from hypothesis import given, settings

from hiercos import Taxonomy
from hiercos.sklearn.hiclass import classes_from_hiclass, hiclass_labels, taxonomy_from_hiclass
from trees import taxonomies


@settings(max_examples=50, deadline=None)
@given(taxonomies())
def test_classes_go_there_and_back(taxonomy: Taxonomy) -> None:
    classes = np.arange(taxonomy.num_classes)
    labels = hiclass_labels(classes, taxonomy)
    assert classes_from_hiclass(labels, taxonomy).tolist() == classes.tolist()
    again = taxonomy_from_hiclass(labels)
    assert sorted(again.path_text(leaf) for leaf in again.leaves) == sorted(
        taxonomy.path_text(leaf) for leaf in taxonomy.leaves
    )


def test_hiclass_itself_takes_the_labels() -> None:
    from hiclass import LocalClassifierPerParentNode

    taxonomy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("plant",)])
    classes = np.array([0, 1, 2, 0, 1, 2])
    features = np.eye(3)[classes]
    model = LocalClassifierPerParentNode().fit(features, hiclass_labels(classes, taxonomy))
    assert classes_from_hiclass(model.predict(features), taxonomy).tolist() == classes.tolist()
