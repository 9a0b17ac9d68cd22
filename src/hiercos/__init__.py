"""Classification over a taxonomy."""

from hiercos.taxonomy import Taxonomy, TaxonomyError

__all__ = ["Taxonomy", "TaxonomyError"]
__version__ = "0.1.0"
