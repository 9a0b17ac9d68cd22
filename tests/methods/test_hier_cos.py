import pytest
import torch

from hiercos import Taxonomy
from hiercos.geometry import leaf_scores, node_scores
from hiercos.methods import METHODS
from hiercos.methods.hier_cos import suitable_alpha
from trees import TOY17


def test_the_span_of_the_subspaces_changes_the_scores_and_never_the_loss() -> None:
    z, labels = torch.randn(6, TOY17.num_nodes), torch.arange(6)
    full = METHODS["hier-cos"](TOY17, in_features=5)
    alone = METHODS["hier-cos"](TOY17, in_features=5, ancestors=False, descendants=False)
    assert torch.equal(full.loss(z, labels), alone.loss(z, labels))
    assert torch.equal(full.class_scores(z), leaf_scores(z, TOY17))
    torch.testing.assert_close(alone.class_scores(z), z.abs()[:, TOY17.leaves.tolist()])
    assert torch.equal(full.node_scores(z), node_scores(z, TOY17))
    torch.testing.assert_close(alone.node_scores(z), z.abs())


def test_the_penalty_of_wide_and_of_deep_trees_weighs_less_unless_alpha_is_given() -> None:
    wide = Taxonomy.from_paths([(f"branch {child % 64}", f"class {child}") for child in range(1024)])
    assert suitable_alpha(wide) == pytest.approx(0.0256)  # 8 + 32 in place of 32
    deep = Taxonomy.from_paths([[f"{level}.{path}" for level in range(40)] for path in range(4)])
    assert suitable_alpha(deep) == pytest.approx(0.0032)  # 40 levels of 2
    assert suitable_alpha(Taxonomy.from_paths([[f"class {leaf}"] for leaf in range(1024)])) == 0.05  # 32 exactly
    z, labels = torch.randn(4, wide.num_nodes), torch.arange(4)
    plain, given, chosen = (METHODS["hier-cos"](wide, 5, width=4, alpha=each).loss for each in (0.0, 0.0256, None))
    torch.testing.assert_close(chosen(z, labels), given(z, labels))
    assert not torch.equal(chosen(z, labels), plain(z, labels))
    published = METHODS["hier-cos"](wide, 5, width=4).loss
    assert torch.equal(published(z, labels), METHODS["hier-cos"](wide, 5, width=4, alpha=0.05).loss(z, labels))
