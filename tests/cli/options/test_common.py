"""Names of methods, backbones and axes are checked without importing torch."""

import subprocess
import sys
from pathlib import Path

import pytest

from hiercos.benchmark import AXIS_DESCRIPTIONS
from hiercos.cli.options import common
from hiercos.cli.options.groups import OptionError
from hiercos.methods import METHODS
from hiercos.nn.backbones import BACKBONES, BackboneError


def registered(registry: object) -> set[str]:
    """Names that this package registers, without those of tests and other packages."""
    return {name for name, build in registry.items() if build.__module__.startswith("hiercos.")}  # type: ignore[attr-defined]


def test_the_lists_are_those_of_the_registries() -> None:
    assert set(common.METHOD_NAMES) == registered(METHODS)
    assert set(common.BACKBONE_NAMES) == registered(BACKBONES)
    assert set(common.BACKBONE_PREFIXES) == set(BACKBONES.prefixes)
    assert tuple(AXIS_DESCRIPTIONS) == common.AXIS_NAMES


FAULTS = {
    "train icd10cm:9 --method hier-cso --out m": "unknown method 'hier-cso'; did you mean 'hier-cos'?",
    "train icd10cm:9 --backbone minilmm --out m": "unknown backbone 'minilmm'; did you mean 'minilm'?",
    "train icd10cm:9 --rule crmm --out m": "unknown rule 'crmm'; did you mean 'crm'?",
    "compare icd10cm:9 --methods hxe,logistc --out m": "unknown method 'logistc'; did you mean 'logistic'?",
    "compare icd10cm:9 --rules crm@hxee --out m": "unknown method 'hxee'; did you mean 'hxe'?",
    "compare icd10cm:9 --tune-for top5 --out m": "--tune-for top5: expected one of top1, hops",
    "ablate icd10cm:9 --axes alhpa --out m": "unknown axis 'alhpa'; did you mean 'alpha'?",
    "embed icd10cm:9 --backbone timm: --output f.npz": "unknown backbone 'timm:'; did you mean 'timm:MODEL'?",
    "extend . icd10cm:99 --taxonomy t.csv --out m": "t.csv: there is no such file",
}


def test_misspelt_names_are_found_without_torch(tmp_path: Path) -> None:
    code = f"from hiercos.cli.app import run; import sys; print([run(line.split()) for line in {list(FAULTS)}])"
    code += "; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    for line, fault in zip(done.stderr.splitlines(), FAULTS.values(), strict=True):
        assert line.startswith(f"error: {fault}")
    assert done.stdout == f"{[2] * len(FAULTS)}\nFalse\n"


def test_backbones_of_other_libraries_are_known_by_their_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    common.check_backbone_name("timm:resnet18")
    with pytest.raises(BackboneError, match="unknown backbone 'tim:resnet18'"):
        common.check_backbone_name("tim:resnet18")
    monkeypatch.delitem(sys.modules, "hiercos.nn.backbones")  # as in a new process
    common.check_backbone_name("timm:resnet18")
    with pytest.raises(OptionError, match="unknown backbone 'timm:'"):
        common.check_backbone_name("timm:")
