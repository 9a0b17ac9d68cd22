"""Folders of models and files to write, looked at before any work is done and torch is imported."""

from pathlib import Path
from tempfile import TemporaryFile

from hiercos.cli.options.groups import OptionError


def check_model_folder(model: Path) -> None:
    """Raise an `OptionError` unless there is a folder of this name; what is in it is not looked at."""
    if model.is_dir():
        return
    if not model.exists():
        raise OptionError(f"{model}: there is no such folder; expected one that hiercos train left")
    exported = ", from which an .onnx file was exported" if model.suffix.lower() == ".onnx" else ""
    raise OptionError(f"{model}: expected the folder that hiercos train left{exported}, this is a file")


def check_target(option: str, file: Path | None) -> None:
    """Raise an `OptionError` if a file that an option names cannot be written, as by a trial in its folder.

    Args:
        option: such as "--output".
        file: to write or to replace; None for none.
    """
    if file is None:
        return
    if file.is_dir():
        raise OptionError(f"{option} {file}: expected the name of a file, this is a folder")
    if not file.parent.is_dir():
        raise OptionError(f"{option} {file}: there is no folder {file.parent}")
    try:
        with TemporaryFile(dir=file.parent):
            pass
    except OSError as error:
        raise OptionError(f"{option} {file}: nothing can be written to {file.parent} ({error.strerror})") from error
