"""Models on the Hugging Face Hub, with the API of transformers and without pickle."""

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
from hiercos.manifest import Manifest
from hiercos.records import Record, line_name, record_file
from hiercos.taxonomy import Taxonomy

CARD = "README.md"
FILES = ["*.json", "*.safetensors", CARD]  # files of a repository to download; all others are ignored


class HubError(FaultsError):
    """A repository that cannot be reached, read or written."""


@dataclass(frozen=True)
class PretrainedModel:
    """A trained model with the record of its run.

    Attributes:
        stored: model with its encoder, decision rule and temperature.
        record: record of the training run; None if there is none.
    """

    stored: StoredModel
    record: Record | None = None

    def __repr__(self) -> str:
        line = line_name(self.stored.model.method, self.stored.rule.name)
        return f"PretrainedModel({line}, {self.stored.kind}, {self.taxonomy!r})"

    @property
    def taxonomy(self) -> Taxonomy:
        """The taxonomy of its classes."""
        return self.stored.model.taxonomy

    @classmethod
    def from_pretrained(
        cls, name_or_folder: str | Path, *, revision: str | None = None, trust_backbone: bool = False
    ) -> "PretrainedModel":
        """Load a model from a folder that `hiercos train` or `save_pretrained` wrote, or from the Hub.

        Args:
            name_or_folder: folder, or repository such as "someone/model", which is downloaded once to the Hub's
                cache.
            revision: branch, tag or commit of the repository.
            trust_backbone: whether the model may name a path or another model of the Hub to load its backbone from.

        Raises:
            HubError: if there is no such folder and the repository cannot be downloaded.
            ModelError: if the folder or repository is not a model of this package.
        """
        files = Manifest.of(_folder(str(name_or_folder), revision))
        stored = load_model(files, trust_backbone=trust_backbone)
        return cls(stored, Record.find(files, stored.rule.name))

    def save_pretrained(self, folder: str | Path, *, name: str | None = None) -> None:
        """Write the model, its taxonomy, its record and a model card to a folder, which is created if missing.

        An existing card is kept, because it may have been edited.

        Args:
            folder: target folder; an existing model is replaced.
            name: name of the model in its card; the folder's name by default.

        Raises:
            ModelError: a folder with the record of another run or rule, which would be mistaken for this model's.
        """
        place = Path(folder)
        if place.exists() and not place.is_dir():
            raise ModelError(f"{place}: expected a folder, this is a file")
        own = set() if self.record is None else {record_file(self.record.rule)}
        if others := sorted({file.name for file in place.glob("record*.json")} - own):
            raise ModelError(f"{place}: expected a folder without the record of another run, it has {others[0]}")
        records: dict[str, str | bytes] = {}
        if self.record is not None:
            data = {**self.record.data, "source": published_source(str(self.record.data["source"]))}
            records[record_file(self.record.rule)] = replace(self.record, data=data).to_json()
        save_model(place, self.stored, records)
        if not (place / CARD).exists():
            card = model_card(self.stored, self.record, name or place.resolve().name)
            write_atomically(place / CARD, card)

    def push_to_hub(
        self, repo_id: str, *, private: bool | None = None, token: str | None = None, commit_message: str | None = None
    ) -> str:
        """Upload the files of `save_pretrained` to a repository of the Hub; creates it if missing, keeps its card.

        Args:
            repo_id: name of the repository, such as "someone/model".
            private: whether a new repository is private; the account's setting by default.
            token: access token; the one of `hf auth login` by default.
            commit_message: message of the commit; "A model of hiercos" by default.

        Returns:
            The URL of the commit.

        Raises:
            HubError: if the Hub cannot be reached or rejects the upload.
        """
        hub = _library()
        api = hub.HfApi(token=token)
        with (
            TemporaryDirectory() as folder,
            _hub_errors(hub, f"{repo_id}: the model cannot be pushed, the Hugging Face Hub"),
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
    with _hub_errors(hub, f"{name}: there is no such folder, and the Hugging Face Hub"):
        downloaded = hub.snapshot_download(name, revision=revision, allow_patterns=FILES)
    return Path(downloaded)


def _library() -> ModuleType:
    try:
        import huggingface_hub.errors  # named explicitly because the library loads its modules lazily
    except ModuleNotFoundError as error:
        raise HubError("the Hugging Face Hub needs huggingface_hub: pip install 'hiercos[hf]'") from error
    return huggingface_hub


@contextmanager
def _hub_errors(hub: ModuleType, what: str) -> Iterator[None]:
    """Convert errors of the Hub and the network to a `HubError` with the given context, the failure and its reason."""
    try:
        yield
    except FaultsError:
        raise
    except (OSError, ValueError, hub.errors.HTTPError) as error:  # HTTPError is that of the Hub's HTTP library
        unanswered = isinstance(error, hub.errors.LocalEntryNotFoundError)  # and there is nothing in the cache
        fault = error.__cause__ if unanswered and error.__cause__ else error
        said = getattr(fault, "server_message", None) or str(fault).strip() or type(fault).__name__
        reason = said.splitlines()[0].rstrip(".")
        raise HubError(f"{what} {_failure(hub.errors, fault)} ({reason})") from error


def _failure(errors: ModuleType, fault: BaseException) -> str:
    """The failure as a predicate of a sentence about the Hub."""
    kinds = (
        (errors.GatedRepoError, "denies access"),  # before RepositoryNotFoundError, its base class
        ((errors.RepositoryNotFoundError, errors.RevisionNotFoundError), "has no such model"),
        (errors.HFValidationError, "rejects this name"),
        (errors.HfHubHTTPError, "refuses"),
        ((errors.HTTPError, errors.LocalEntryNotFoundError, ConnectionError), "cannot be reached"),
    )
    return next((words for kind, words in kinds if isinstance(fault, kind)), "cannot be used")
