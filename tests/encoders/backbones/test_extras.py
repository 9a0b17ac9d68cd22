import subprocess
import sys

import pytest

from hiercos.encoders.backbones import BackboneError, load_backbone
from hiercos.encoders.backbones.weights import import_extra

LIBRARIES = ["timm", "torchvision", "transformers", "sentence_transformers", "onnx", "onnxruntime", "huggingface_hub"]


def test_importing_backbones_imports_no_optional_library() -> None:
    code = "import sys; from hiercos.encoders.backbones import BACKBONES; builders = dict(BACKBONES)"
    code += f"; print([name for name in {LIBRARIES} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "library", "extra"),
    [
        ("timm:resnet18", "timm", "timm"),
        ("transformers:some/model", "huggingface_hub", "transformers"),
        ("sentence-transformers:some/model", "sentence_transformers", "sentence-transformers"),
    ],
)
def test_a_missing_library_is_named_with_the_extra_that_installs_it(
    name: str, library: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(BackboneError) as caught:
        load_backbone(name)
    assert str(caught.value) == f"backbone {name!r} needs {library}: pip install 'hiercos[{extra}]'"


def test_what_a_library_lacks_itself_is_named_too(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "library_without_its_own.py").write_text("import no_such_library.part")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BackboneError, match=r"^backbone 'x:y' needs no_such_library: pip install 'hiercos\[x\]'$"):
        import_extra("library_without_its_own", extra="x", backbone="x:y")
