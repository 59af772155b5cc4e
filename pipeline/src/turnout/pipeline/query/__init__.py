"""Questions to the lake: views, filters and the registry of metrics. The only room that knows duckdb.

What may change here is what is asked: a metric is one `.sql` file and one entry of the registry. Nothing here decides how a turn ended;
the SQL reads the stored outcome.
"""

from turnout.pipeline.query.errors import QueryError
from turnout.pipeline.query.filters import Filters
from turnout.pipeline.query.metrics import METRICS, Metric, metric, run
from turnout.pipeline.query.warehouse import TurnDetail, Warehouse

__all__ = ["METRICS", "Filters", "Metric", "QueryError", "TurnDetail", "Warehouse", "metric", "run"]
