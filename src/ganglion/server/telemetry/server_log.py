"""The server's own log: one JSON object per line in `server.log`, a few files at most.

Lines that repeat within a minute are counted: see `ganglion.repeats`.
"""

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

import structlog

from ganglion.model.errors import EnvironmentFault
from ganglion.repeats import Repeats

MOST_BYTES = 10 << 20
"""Size at which a new file is begun."""
KEPT = 4
"""Older files kept."""


def open_journal(path: Path) -> logging.Handler:
    """Send everything that this process logs to a file.

    Returns:
        the handler, to be closed at the end.

    Raises:
        EnvironmentFault: the file cannot be written.
    """
    try:
        file = RotatingFileHandler(path, maxBytes=MOST_BYTES, backupCount=KEPT)
    except OSError as error:
        raise EnvironmentFault(
            f"cannot write {path}: {error.strerror}", "check space and permissions"
        ) from error
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    file.setFormatter(_formatter(shared))
    handler = Repeats(file)
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.INFO)
    # Alembic logs at every start which kind of database it talks to, and httpx2 the URL of every
    # request, which may be a secret.
    for name in ("alembic", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # A full disk must not fill the terminal with the logger's own tracebacks.
    logging.raiseExceptions = False
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    return handler


def close_journal(handler: logging.Handler) -> None:
    """Stop writing to the file, and log as a process that is no server does."""
    logging.getLogger().removeHandler(handler)
    logging.getLogger().setLevel(logging.WARNING)
    handler.close()
    logging.raiseExceptions = True
    structlog.reset_defaults()


def _formatter(shared: list[structlog.typing.Processor]) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
    )
