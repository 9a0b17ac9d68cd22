"""Model folders that a test changes on purpose, and a disk that is nearly full."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from hiercos import storage


def resealed(folder: Path, **changes: Any) -> Path:
    """Write the checksums of a folder again, for its files as they are now, with changes of its configuration.

    Files that are gone are left out.
    """
    values = {**json.loads((folder / storage.CONFIG).read_text()), **changes}
    names = [name for name in values[storage.FILES] if (folder / name).is_file()]
    values[storage.FILES] = {name: storage.sha256((folder / name).read_bytes()) for name in names}
    del values[storage.DIGEST]
    (folder / storage.CONFIG).write_text(json.dumps({**values, storage.DIGEST: storage._digest(values)}))
    return folder


def with_tensors(folder: Path, **changes: Tensor) -> Path:
    """Commit a model folder again with other tensors; "__" in a name stands for a dot."""
    file = folder / "model.safetensors"
    renamed = {name.replace("__", "."): tensor for name, tensor in changes.items()}
    file.write_bytes(safetensors.torch.save({**safetensors.torch.load(file.read_bytes()), **renamed}))
    return resealed(folder)


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file of this process may grow beyond a number of bytes meanwhile, as on a full disk."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
