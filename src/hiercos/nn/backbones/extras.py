"""Optional libraries: imported when a backbone needs them, and named in one sentence where they are missing."""

from importlib import import_module
from types import ModuleType

from hiercos.nn.backbones.backbone import BackboneError


def import_extra(module: str, *, extra: str, backbone: str) -> ModuleType:
    """A module of an optional library.

    Args:
        module: its name, such as "timm".
        extra: of hiercos, which installs the library with all that it needs.
        backbone: as the user wrote it, for the message.

    Raises:
        BackboneError: if the library, or one that it imports in turn, is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or module).partition(".")[0]
        raise BackboneError(f"backbone {backbone!r} needs {missing}: pip install 'hiercos[{extra}]'") from error
