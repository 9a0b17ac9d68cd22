"""Bridges to other libraries. They may use everything here, and nothing here uses them."""

from typing import TYPE_CHECKING

from hiercos.lazy import lazy_names

if TYPE_CHECKING:
    from hiercos.interop.hub import PretrainedModel
    from hiercos.interop.pipeline import Pipeline, load_pipeline

__all__ = ["Pipeline", "PretrainedModel", "load_pipeline"]

__getattr__ = lazy_names(  # the bridges for taxonomies need no torch
    __name__,
    {
        "Pipeline": "hiercos.interop.pipeline",
        "PretrainedModel": "hiercos.interop.hub",
        "load_pipeline": "hiercos.interop.pipeline",
    },
)
