from .app import create_app as create_app
from .errors import ServeError as ServeError
from .inference import Inference as Inference
from .limits import Limits as Limits
from .served_model import ServedModel as ServedModel
from .served_model import served_model as served_model
from .server import Service as Service
from .server import run_server as run_server
