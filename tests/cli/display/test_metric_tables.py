import math

import numpy as np
import pytest

from hiercos.benchmark import sample_metrics
from hiercos.cli.display.metric_tables import metric_rows
from hiercos.predictions.scores import ScoreSet
from trees import TOY17


def test_metrics_that_are_equal_for_all_samples_have_no_interval_of_zero_width() -> None:
    found = ScoreSet(np.eye(17, dtype=np.float32), np.arange(17), 17)
    rows = {row["metric"]: row for row in metric_rows(sample_metrics(found, TOY17))}
    assert rows["top1"]["value"] == rows["top1"]["high"] == 1
    assert rows["top1"]["low"] == pytest.approx(1 - 3.8415 / (17 + 3.8415), abs=1e-4)  # Wilson's, of 17 of 17
    assert math.isnan(rows["ahd_at_1"]["low"])
    assert np.isfinite(rows["ahd_at_5"]["low"])
