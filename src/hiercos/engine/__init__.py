"""Training, evaluation and prediction on Lightning Fabric; runs and models as folders."""

from hiercos.engine.config import ConfigError, TrainConfig
from hiercos.engine.evaluate import answers, class_scores, evaluate
from hiercos.engine.fit import Epoch, RunProgress, Watcher, fit
from hiercos.engine.folder import StoredModel, load_model, save_model
from hiercos.engine.model import Model
from hiercos.engine.prepare import PreparedData, prepare
from hiercos.engine.reader_files import ModelError
from hiercos.engine.rules import adopt_rule, rule_records
from hiercos.engine.run import RunError, train_run

__all__ = [
    "ConfigError",
    "Epoch",
    "Model",
    "ModelError",
    "PreparedData",
    "RunError",
    "RunProgress",
    "StoredModel",
    "TrainConfig",
    "Watcher",
    "adopt_rule",
    "answers",
    "class_scores",
    "evaluate",
    "fit",
    "load_model",
    "prepare",
    "rule_records",
    "save_model",
    "train_run",
]
