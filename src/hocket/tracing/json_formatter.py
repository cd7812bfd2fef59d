"""`JSONFormatter`: log records as lines of JSON."""

import json
import logging
from datetime import UTC, datetime

__all__ = ["JSONFormatter"]


class JSONFormatter(logging.Formatter):
    """Writes a log record as a line of JSON: ``time`` (UTC), ``level``, ``logger``, ``message``, ``hocket``, ``exception``.

    It takes the arguments of `logging.Formatter`, of which ``datefmt`` alone counts.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        time = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, object] = {
            "time": time.strftime(self.datefmt) if self.datefmt else time.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        facts: object = getattr(record, "hocket", None)
        if facts is not None:
            line["hocket"] = facts
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)
