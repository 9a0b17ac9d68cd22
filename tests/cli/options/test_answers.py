"""Errors of a request for answers in the spelling of the command."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiercos import Taxonomy
from hiercos.cli.options.answers import AnswerOptions, BoundRequest
from hiercos.cli.options.groups import OptionError
from hiercos.decisions import Likeliest, Posterior, held_out_chains

TREE = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
PYTHON_NAMES = re.compile(
    r"target_containment|target_precision|max_overshoot|min_level|level_confidences"
    r"|got confidence|a delta|a confidence above"
)
ABOVE = "above 0 and below 1, got 2.0"
UP_TO_1 = "above 0 and at most 1, got 2.0"
UNCALIBRATED = "this model has no calibration samples: too few samples"
HINT = "hiercos taxonomy convert MODEL names.json writes all names"


def written(folder: Path, values: dict[str, Any]) -> AnswerOptions:
    """Options in which the names of --allow and --deny are written to files."""
    for option in {"allow", "deny"} & values.keys():
        (folder / option).write_text("\n".join(values[option]) + "\n", encoding="utf-8")
        values = {**values, option: folder / option}
    return AnswerOptions(**values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"confidence": "2"}, f"expected a --confidence {UP_TO_1}"),
        ({"confidence": "0.5,2"}, f"expected a --confidence {UP_TO_1}"),
        ({"target_containment": 2.0}, f"expected a --target-containment {ABOVE}"),
        ({"target_containment": 100.0}, "expected a --target-containment above 0 and below 1, got 100.0"),
        ({"target_containment": 101.0}, "expected a --target-containment above 0 and below 1, got 101.0"),
        ({"target_precision": 2.0}, f"expected a --target-precision {ABOVE}"),
        ({"max_overshoot": -1.0}, "expected a --max-overshoot above 0, got -1.0"),
        ({"target_precision": 0.9, "delta": 2.0}, f"expected a --delta {ABOVE}"),
        ({"confidence": "0.9", "max_overshoot": 1.0}, "got --confidence and --max-overshoot"),
        ({"confidence": "0.5,0.9", "target_precision": 0.9}, "got --confidence and --target-precision"),
        ({"target_containment": 0.9, "target_precision": 0.9}, "got --target-containment and --target-precision"),
        ({"rule": "crm", "confidence": "0.9"}, "rule 'crm': expected 'back-off' with --confidence"),
        ({"rule": "crm", "min_level": "1"}, "rule 'crm': expected 'back-off' with --min-level"),
        (
            {"rule": "crm", "target_precision": 0.9, "min_level": "1"},
            "rule 'crm': expected 'back-off' with --target-precision and --min-level",
        ),
        ({"rule": "crn"}, "unknown rule 'crn'; did you mean 'crm'?"),
        ({"min_level": "genus"}, "--min-level: level 'genus': "),
        ({"within": ["vehicel"]}, "--within: unknown name 'vehicel'; the nearest known label is 'vehicle'"),
        ({"within": ["xyzzy"]}, f"--within: unknown name 'xyzzy'; {HINT}"),
        ({"allow": ["xyzzy"]}, f"--allow: unknown name 'xyzzy'; {HINT}"),
        ({"deny": ["xyzzy"]}, f"--deny: unknown name 'xyzzy'; {HINT}"),
        ({"within": ["pet"], "allow": ["car"]}, "no class is left: --allow has none that --within 'pet' leaves"),
        ({"deny": ["root"]}, "no class is left: --deny has all classes"),
        ({"within": ["pet"], "deny": ["pet"]}, "no class is left: --deny has all classes that --within leaves"),
        ({"allow": ["cat"], "deny": ["pet"]}, "no class is left: --deny has all classes that --allow leaves"),
        (
            {"within": ["pet"], "allow": ["cat"], "deny": ["pet"]},
            "no class is left: --deny has all classes that --within and --allow leave",
        ),
    ],
)
def test_errors_of_a_request_name_the_options(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011  # the text is compared below
        written(tmp_path, values).request(TREE)
    assert message in str(error.value)
    assert str(error.value).endswith(message) or message.endswith(": ")
    assert not PYTHON_NAMES.search(str(error.value))
    assert "rule 'back-off': " not in str(error.value)


@pytest.mark.parametrize("samples", [0, 3])
@pytest.mark.parametrize(
    ("values", "option"),
    [
        ({"target_containment": 0.99}, "--target-containment 0.99: "),
        ({"target_precision": 0.99}, "--target-precision 0.99: "),
        ({"max_overshoot": 0.01}, "--max-overshoot 0.01: "),
    ],
)
def test_errors_of_a_target_name_the_option(values: dict[str, float], option: str, samples: int) -> None:
    posterior = Posterior(np.full((samples, 3), 1 / 3), TREE) if samples else None
    chains = posterior and held_out_chains(posterior, TREE.leaves[:samples])
    request = AnswerOptions(**values).request(TREE)
    with pytest.raises(OptionError) as error:
        BoundRequest.of(request, Likeliest(), chains)
    assert str(error.value).startswith(option)
    assert "calibration samples" in str(error.value)
    assert (UNCALIBRATED in str(error.value)) == (not samples)
    assert not PYTHON_NAMES.search(str(error.value))
