"""Models on the Hugging Face Hub: saved, loaded and pushed as users of transformers know it. No pickle."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from hiercos.engine import ModelError, StoredModel, load_model, save_model
from hiercos.errors import FaultsError
from hiercos.files import write_atomically
from hiercos.hub.card import model_card, published_source
from hiercos.records import Record, line_name, record_file
from hiercos.taxonomy import Taxonomy

CARD = "README.md"
FILES = ["*.json", "*.safetensors", CARD]  # of a repository; nothing else is ever downloaded


class HubError(FaultsError):
    """A repository that cannot be reached, read or written."""


@dataclass(frozen=True)
class PretrainedModel:
    """A trained model with the record of its run.

    Attributes:
        stored: the model, what reads its inputs, its decision rule and temperature.
        record: of the run that made it; None where there is none.
    """

    stored: StoredModel
    record: Record | None = None

    def __repr__(self) -> str:
        line = line_name(self.stored.model.method, self.stored.rule.name)
        return f"PretrainedModel({line}, {self.stored.kind}, {self.taxonomy!r})"

    @property
    def taxonomy(self) -> Taxonomy:
        """The tree it answers over."""
        return self.stored.model.taxonomy

    @classmethod
    def from_pretrained(cls, name_or_folder: str | Path, *, revision: str | None = None) -> "PretrainedModel":
        """Load a model from a folder that `hiercos train` or `save_pretrained` left, or from the Hub.

        Args:
            name_or_folder: a folder, or a repository such as "someone/model", which is downloaded once to the Hub's
                own cache.
            revision: branch, tag or commit of the repository.

        Raises:
            HubError: if there is no such folder and the Hub does not give such a repository.
            ModelError: if what is there is not a model of this package.
        """
        folder = _folder(str(name_or_folder), revision)
        stored = load_model(folder)
        return cls(stored, Record.find(folder, stored.rule.name))

    def save_pretrained(self, folder: str | Path, *, name: str | None = None) -> None:
        """Write the model, its taxonomy, its record and a model card into a folder, which is made if missing.

        A card that is there stays, because somebody may have edited it.

        Args:
            folder: where; a model that is there is replaced.
            name: of the model in its card; that of the folder by default.

        Raises:
            ModelError: for a folder with a record of another run or rule, which would be taken for this model's.
        """
        place = Path(folder)
        if place.exists() and not place.is_dir():
            raise ModelError(f"{place}: expected a folder, this is a file")
        own = set() if self.record is None else {record_file(self.record.rule)}
        if others := sorted({file.name for file in place.glob("record*.json")} - own):
            raise ModelError(f"{place}: expected a folder without the record of another run, it has {others[0]}")
        save_model(place, self.stored)
        if self.record is not None:
            data = {**self.record.data, "source": published_source(str(self.record.data["source"]))}
            replace(self.record, data=data).write(place)
        if not (place / CARD).exists():
            card = model_card(self.stored, self.record, name or place.resolve().name)
            write_atomically(place / CARD, card)

    def push_to_hub(
        self, repo_id: str, *, private: bool | None = None, token: str | None = None, commit_message: str | None = None
    ) -> str:
        """Upload what `save_pretrained` writes to a repository of the Hub, which is made if missing; its card stays.

        Args:
            repo_id: such as "someone/model".
            private: whether a new repository is private; as the account is set by default.
            token: of the account; the one of `hf auth login` by default.
            commit_message: of the upload.

        Returns:
            The address of the commit.

        Raises:
            HubError: in one sentence, if the Hub cannot be reached or refuses.
        """
        hub = _library()
        api = hub.HfApi(token=token)
        with (
            TemporaryDirectory() as folder,
            _faults_named(hub, f"{repo_id}: the model cannot be pushed, the Hugging Face Hub"),
        ):
            self.save_pretrained(folder, name=repo_id)
            api.create_repo(repo_id, private=private, exist_ok=True)
            kept = [CARD] if api.file_exists(repo_id, CARD) else None
            message = commit_message or "A model of hiercos"
            commit = api.upload_folder(
                repo_id=repo_id, folder_path=folder, commit_message=message, ignore_patterns=kept
            )
        return str(commit.commit_url)


def _folder(name: str, revision: str | None) -> Path:
    """The folder of this name, or the downloaded repository."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if folder.exists() or name.count("/") != 1 or name.startswith((".", "/", "~")):
        raise ModelError(f"{name}: expected a folder with a model, or a repository of the Hugging Face Hub")
    hub = _library()
    with _faults_named(hub, f"{name}: there is no such folder, and the Hugging Face Hub"):
        downloaded = hub.snapshot_download(name, revision=revision, allow_patterns=FILES)
    return Path(downloaded)


def _library() -> ModuleType:
    try:
        import huggingface_hub.errors  # named, as the library loads its parts when they are asked for
    except ModuleNotFoundError as error:
        raise HubError("the Hugging Face Hub needs huggingface_hub: pip install 'hiercos[hf]'") from error
    return huggingface_hub


@contextmanager
def _faults_named(hub: ModuleType, what: str) -> Iterator[None]:
    """Turn whatever the Hub or the network answers into a `HubError`: these words, what happened, and the reason."""
    try:
        yield
    except FaultsError:
        raise
    except (OSError, ValueError, hub.errors.HTTPError) as error:  # the last is of the library that it speaks HTTP with
        unanswered = isinstance(error, hub.errors.LocalEntryNotFoundError)  # and there is nothing in the cache
        fault = error.__cause__ if unanswered and error.__cause__ else error
        said = getattr(fault, "server_message", None) or str(fault).strip() or type(fault).__name__
        reason = said.splitlines()[0].rstrip(".")
        raise HubError(f"{what} {_happened(hub.errors, fault)} ({reason})") from error


def _happened(errors: ModuleType, fault: BaseException) -> str:
    """What the Hub did, as a predicate."""
    kinds = (
        (errors.GatedRepoError, "gives no access"),  # before the next, of which it is one
        ((errors.RepositoryNotFoundError, errors.RevisionNotFoundError), "has no such model"),
        (errors.HFValidationError, "takes no such name"),
        (errors.HfHubHTTPError, "refuses"),
        ((errors.HTTPError, errors.LocalEntryNotFoundError, ConnectionError), "cannot be reached"),
    )
    return next((words for kind, words in kinds if isinstance(fault, kind)), "cannot be used")
