"""Models on the Hugging Face Hub, with the API of transformers and without pickle, and the pipelines that run them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TypeAlias

from hiercos import storage
from hiercos.checks import check_count
from hiercos.encoders import ReadConfig, SingleDevice
from hiercos.errors import FaultsError
from hiercos.hub.card import model_card, published_source
from hiercos.model import Answer, Classifier, ModelError, model_files
from hiercos.records import RECORD_FILE, Record, holds_finished_run, read_records, records_json, variant_name
from hiercos.taxonomy import Taxonomy

CARD = "README.md"
Pipeline: TypeAlias = Callable[..., list[Answer]]
FILES = ["*.json", "*.safetensors", CARD]  # files of a repository to download; all others are ignored


class HubError(FaultsError):
    """A repository that cannot be reached, read or written."""


@dataclass(frozen=True)
class PretrainedModel:
    """A trained model with the record of its run."""

    classifier: Classifier  # model with its encoder, decision rule and temperature
    record: Record | None = None  # record of the training run; None if there is none

    def __repr__(self) -> str:
        variant = variant_name(self.classifier.model.method, self.classifier.rule.name)
        return f"PretrainedModel({variant}, {self.classifier.kind}, {self.taxonomy!r})"

    @property
    def taxonomy(self) -> Taxonomy:
        """The taxonomy of its classes."""
        return self.classifier.taxonomy

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
        files = model_files(_folder(str(name_or_folder), revision))
        classifier = Classifier.load(files, trust_backbone=trust_backbone)
        return cls(classifier, Record.find(files, classifier.rule.name))

    def save_pretrained(self, folder: str | Path, *, name: str | None = None) -> None:
        """Write the model, its taxonomy, its record and a model card to a folder, which is created if missing.

        An existing card is kept, because it may have been edited.

        Args:
            folder: target folder; an existing model is replaced.
            name: name of the model in its card; the folder's name by default.

        Raises:
            ModelError: a folder with the record of another run, which would be lost.
        """
        place = Path(folder)
        if place.exists() and not place.is_dir():
            raise ModelError(f"{place}: expected a folder, this is a file")
        others = read_records(place).values() if holds_finished_run(place) else ()
        if any(self.record is None or other.identity != self.record.identity for other in others):
            raise ModelError(f"{place}: expected a folder without the record of another run, it has {RECORD_FILE}")
        records: dict[str, str | bytes] = {}
        if self.record is not None:
            data = {**self.record.data, "source": published_source(str(self.record.data["source"]))}
            records[RECORD_FILE] = records_json([replace(self.record, data=data)])
        self.classifier.save(place, records)
        if not (place / CARD).exists():
            card = model_card(self.classifier, self.record, name or place.resolve().name)
            storage.write(place / CARD, card)

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
            _hub_errors(hub, f"{repo_id}: the model cannot be pushed to the Hugging Face Hub"),
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
    with _hub_errors(hub, f"{name}: there is no such folder, and nothing comes from the Hugging Face Hub"):
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
    """Convert errors of the Hub and the network to a `HubError` with the given context and the reason."""
    try:
        yield
    except FaultsError:
        raise
    except (OSError, ValueError, hub.errors.HTTPError) as error:  # HTTPError is that of the Hub's HTTP library
        unanswered = isinstance(error, hub.errors.LocalEntryNotFoundError)  # and there is nothing in the cache
        fault = error.__cause__ if unanswered and error.__cause__ else error
        message = getattr(fault, "server_message", None) or str(fault).strip() or type(fault).__name__
        reason = message.splitlines()[0].rstrip(".")
        raise HubError(f"{what}: {reason}") from error


def load_pipeline(
    model: str | Path | PretrainedModel,
    *,
    revision: str | None = None,
    device: str = "auto",
    batch_size: int | None = None,
    workers: int = 0,
) -> Pipeline:
    """A function that answers inputs: `Classifier.answers` on a device, with a batch size.

    Args:
        model: folder or repository (see `PretrainedModel.from_pretrained`), or a `PretrainedModel`.
        revision: branch, tag or commit of the repository.
        device: "auto" (the default), "cpu", "cuda" or "mps".
        batch_size: number of inputs in a batch; None for a default by kind of input.
        workers: number of processes that read images or texts; 0 (the default) for a thread of this process.

    Raises:
        ValueError: an unknown or missing device, a batch size below 1, or workers below 0.
        HubError, ModelError: see `PretrainedModel.from_pretrained`.
    """
    if batch_size is not None:
        check_count("batch_size", batch_size)
    check_count("workers", workers, 0)
    context = SingleDevice(device)
    if not isinstance(model, PretrainedModel):
        model = PretrainedModel.from_pretrained(model, revision=revision)
    return partial(model.classifier.answers, config=ReadConfig(context, batch_size, workers))
