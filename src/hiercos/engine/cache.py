"""Where features are kept between commands, under a name that says what they were made of and how."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hiercos.data.decodable import CACHE_VARIABLE
from hiercos.data.images import Images
from hiercos.engine.raw import RawInputs

FORMAT = "hiercos-features 1"


def cache_folder() -> Path:
    """The folder of cached features: that of the environment variable HIERCOS_CACHE, else one in the user's home."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else Path.home() / ".cache" / "hiercos" / "features"


def feature_key(inputs: RawInputs, identity: Mapping[str, Any], precision: str) -> str:
    """A SHA-256 of everything that decides features: each input's content in order, the backbone, the precision.

    Args:
        inputs: images or texts; an image counts by its content, not by its name.
        identity: of the backbone: name, options, preprocessing, hash of the weights.
        precision: as Lightning Fabric names it.
    """
    how = json.dumps([FORMAT, precision, identity], sort_keys=True)
    digest = hashlib.sha256(how.encode())
    if isinstance(inputs, Images):
        digest.update(inputs.digests.tobytes())
    else:
        for text in inputs:
            digest.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return digest.hexdigest()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file that one process at a time can hold; the others wait, and a process that dies lets go of it.

    Where the system has no such locks (Windows), nobody waits.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
