from .pretrained import PretrainedModel as PretrainedModel
from .pretrained import load_pipeline as load_pipeline
