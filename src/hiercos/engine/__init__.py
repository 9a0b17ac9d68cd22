"""Training, evaluation and prediction on Lightning Fabric; runs and models as folders."""

from hiercos.engine.config import ConfigError, TrainConfig
from hiercos.engine.embed import Embedded, EmbeddingError, embed
from hiercos.engine.evaluate import answers, class_scores, evaluate
from hiercos.engine.fine_tuning import FineTuningData, prepare_fine_tuning
from hiercos.engine.fit import Epoch, RunProgress, Watcher, fit, train_epoch
from hiercos.engine.folder import StoredModel, load_model, save_model
from hiercos.engine.model import Model
from hiercos.engine.prepare import PreparedData, prepare, prepare_embedded
from hiercos.engine.reader_files import ModelError
from hiercos.engine.readers import Reading, frozen_reader
from hiercos.engine.rules import adopt_rule, rule_records
from hiercos.engine.run import RunError, train_run

__all__ = [
    "ConfigError",
    "Embedded",
    "EmbeddingError",
    "Epoch",
    "FineTuningData",
    "Model",
    "ModelError",
    "PreparedData",
    "Reading",
    "RunError",
    "RunProgress",
    "StoredModel",
    "TrainConfig",
    "Watcher",
    "adopt_rule",
    "answers",
    "class_scores",
    "embed",
    "evaluate",
    "fit",
    "frozen_reader",
    "load_model",
    "prepare",
    "prepare_embedded",
    "prepare_fine_tuning",
    "rule_records",
    "save_model",
    "train_epoch",
    "train_run",
]
