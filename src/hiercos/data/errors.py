"""The one exception of this package: everything that is wrong with a data set, in one message."""

from hiercos.errors import FaultsError


class DataError(FaultsError):
    """Data that cannot be used; see `FaultsError`."""
