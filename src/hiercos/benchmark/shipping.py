"""Copy the model of a comparison's run, with the rule it is to answer by."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hiercos.benchmark.comparison import RUNS
from hiercos.decisions import rule
from hiercos.engine import LOG, SCORES, RunData, class_scores, load_model, save_model
from hiercos.errors import FaultsError
from hiercos.records import RECORD_FILE, Record, record_file

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class ShippingError(FaultsError):
    """A folder that a model cannot be copied to."""


def check_shipping(target: Path) -> None:
    """Raise a `ShippingError` if the folder exists, or has no parent folder."""
    if target.exists():
        raise ShippingError(f"--ship {target}: already exists; choose another folder")
    if not target.resolve().parent.is_dir():
        raise ShippingError(f"--ship {target}: there is no folder {target.resolve().parent}")


def ship_model(fabric: Fabric, data: RunData, record: Record, folder: Path, target: Path) -> None:
    """Copy the model of a record to a new folder; its rule is fitted on the validation split.

    The folder appears under its name when it is complete.

    Args:
        fabric: launched Fabric.
        data: data of the comparison.
        record: record of the run and rule to copy.
        folder: folder of the comparison.
        target: folder to create.

    Raises:
        ShippingError: see `check_shipping`.
    """
    check_shipping(target)
    run, val = folder / RUNS / record.method / f"seed-{record.seed}", data.for_method(record.method).samples("val")
    stored = load_model(run, trust_backbone=True)
    posterior = stored.posterior(class_scores(fabric, stored.model, val).numpy())
    fitted = rule(record.rule).fit(posterior, data.taxonomy.leaves[val.labels.numpy()])
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.resolve().parent) as place:
        made = Path(place) / target.name
        made.mkdir()
        for name in {RECORD_FILE, record_file(record.rule), SCORES, LOG}:
            shutil.copyfile(run / name, made / name)
        save_model(made, replace(stored, model=stored.model.cpu(), rule=fitted))
        made.rename(target)
