from .pipeline import Pipeline as Pipeline
from .pipeline import load_pipeline as load_pipeline
from .pretrained import PretrainedModel as PretrainedModel
