"""What the server writes about its work: one JSON object a line, with nothing about a person or an image."""

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Any

LEVEL = "LAYA_LOG"  # the environment variable that turns it on: info or warning
_LOGGER = logging.getLogger("laya")


class _Lines(logging.Formatter):
    """JSON lines; structlog would save nine lines of this file, and logging.config has no such formatter."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        return json.dumps(entry, ensure_ascii=False)


def set_up() -> None:
    """Write to standard error from the level that the environment names; without one, nothing. Once a process."""
    level = logging.getLevelNamesMapping().get(os.environ.get(LEVEL, "").upper())
    if level is None or _LOGGER.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(level)
    _LOGGER.propagate = False


def event(name: str, **facts: Any) -> None:
    """One line at level info: what happened, and facts as JSON values."""
    _LOGGER.info(name, extra={"facts": facts})
