"""Bridges to other libraries. They may use everything here, and nothing here uses them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hiercos.interop.hub import PretrainedModel
    from hiercos.interop.pipeline import Pipeline, load_pipeline

__all__ = ["Pipeline", "PretrainedModel", "load_pipeline"]

_NEED_TORCH = {
    "Pipeline": "hiercos.interop.pipeline",
    "PretrainedModel": "hiercos.interop.hub",
    "load_pipeline": "hiercos.interop.pipeline",
}


def __getattr__(name: str) -> Any:
    """Import what needs torch when it is first asked for; the bridges for taxonomies need none."""
    if name in _NEED_TORCH:
        return getattr(import_module(_NEED_TORCH[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
