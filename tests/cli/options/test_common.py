"""Names of methods, backbones, rules and axes are checked without importing torch."""

import subprocess
import sys
from pathlib import Path

FAULTS = {
    "train icd10cm:9 --method hier-cso --out m": "unknown method 'hier-cso'; did you mean 'hier-cos'?",
    "train icd10cm:9 --backbone minilmm --out m": "unknown backbone 'minilmm'; did you mean 'minilm'?",
    "train icd10cm:9 --rule crmm --out m": "unknown rule 'crmm'; did you mean 'crm'?",
    "compare icd10cm:9 --methods hxe,logistc --out m": "unknown method 'logistc'; did you mean 'logistic'?",
    "compare icd10cm:9 --rules crm@hxee --out m": "unknown method 'hxee'; did you mean 'hxe'?",
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
