"""Log records as lines of JSON, for programs that read logs."""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TextIO

from .log_context import NOWHERE, LogContext, LogPlace

__all__ = ("LOG_SETTING", "JsonFormatter", "json_logs_asked", "write_json_logs")

LOG_SETTING = "AMRITA_LOG"
"""The environment's word on how logs are written: `json`, or empty for as the program writes its own."""

FIELDS = ("fleet", "agent", "run", "step", "trace_id", "span_id")


class JsonFormatter(logging.Formatter):
    """One line for each record: a JSON object.

    It has `time` (ISO 8601, UTC), `level`, `logger` and `message`; `error` with the traceback where there is one; and
    what `LogContext` has written into the record, as far as it is known.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update({name: value for name in FIELDS if (value := getattr(record, name, None))})
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def json_logs_asked(environ: Mapping[str, str]) -> bool:
    """Whether the environment wants logs as JSON; any other word than that is warned of."""
    asked = environ.get(LOG_SETTING, "")
    if asked not in {"", "json"}:
        logging.getLogger(__name__).warning("%s must be json, or not set; it is %r.", LOG_SETTING, asked)
    return asked == "json"


def write_json_logs(stream: TextIO, usual: LogPlace = NOWHERE) -> logging.Handler:
    """Write what the product logs to a stream, from INFO on, as lines of JSON, and nowhere else; gives the handler.

    `usual` is where code is that is in no agent.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(LogContext(usual))
    logger = logging.getLogger("amrita_fleet")
    logger.addHandler(handler)
    logger.propagate = False
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    return handler
