import typing

from .classes import AnswerMetrics as AnswerMetrics
from .classes import CalibrationError as CalibrationError
from .classes import MetricSuite as MetricSuite
from .classes import default_suite as default_suite
from .classes import metric_class as metric_class
from .ranking import Ranking as Ranking
from .ranking import ranking_metric as ranking_metric
from .suite import SuiteSums as SuiteSums
from .suite import listed_values as listed_values
from .suite import suite_means as suite_means
from .suite import suite_names as suite_names
from .suite import suite_values as suite_values
from .table import AVERAGE_PRECISION as AVERAGE_PRECISION
from .table import CLASSES as CLASSES
from .table import MAIN as MAIN
from .table import MEASURED as MEASURED
from .table import OF_SETS as OF_SETS
from .table import RESULTS as RESULTS
from .table import SUITE as SUITE
from .table import MetricSpec as MetricSpec
from .table import in_shown_order as in_shown_order
from .table import legend as legend
from .table import metric_spec as metric_spec
from .table import of_all_levels as of_all_levels

def __getattr__(name: str) -> typing.Any: ...  # the classes of `CLASSES`, made from the rows of the table
