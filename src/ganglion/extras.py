"""What is installed on demand: `pip install "ganglion[NAME]"`.

Without an extra there is the SDK alone. What lacks one says which: it asks for it by `require`, or
a failed import of one of these modules is explained by `explained`.
"""

from collections.abc import Mapping
from importlib.util import find_spec

from ganglion.model.errors import EnvironmentFault

_CLI = ("click", "rich", "rich_click", "pydantic", "yaml", "cronsim", "numpy")
_ROUTER = ("aiohttp", "prometheus_client", "structlog", "cryptography")
_SERVING = ("fastapi", "uvicorn", "wsproto", "sqlalchemy")

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "cli": _CLI,
    "server": (*_CLI, *_ROUTER, *_SERVING, "alembic", "pynvml", "joserfc"),
    "kubernetes": (*_CLI, *_SERVING, "prometheus_client", "structlog"),
    "router": _ROUTER,
    "postgres": ("psycopg",),
    "mcp": (*_CLI, "mcp"),
}
"""Extra -> modules that it installs beside the SDK's; the first that has a module explains it."""


def require(extra: str) -> None:
    """Raise EnvironmentFault when a module of an extra is not installed."""
    for module in EXTRAS[extra]:
        if find_spec(module) is None:
            raise _lacking(module, extra)


def explained(error: ModuleNotFoundError) -> EnvironmentFault | None:
    """The extra that a failed import lacks, as an error; None = the module is of no extra."""
    module = (error.name or "").partition(".")[0]
    extra = next((name for name, modules in EXTRAS.items() if module in modules), "")
    return _lacking(module, extra) if extra else None


def _lacking(module: str, extra: str) -> EnvironmentFault:
    return EnvironmentFault(f"{module} is not installed", f"pip install 'ganglion[{extra}]'")
