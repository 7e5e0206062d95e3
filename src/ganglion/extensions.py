"""Finding plugins: built-in ones by name, others through entry points."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from msgspec import Struct

from ganglion.engine.plugins.builtin import SCORES, builtin_score
from ganglion.engine.plugins.protocols import Filter, Permit, Plugins, Preempt, Score
from ganglion.model.errors import PluginError
from ganglion.model.policy import Policy

POINTS: dict[str, type] = {
    "filters": Filter,
    "scores": Score,
    "permits": Permit,
    "preempts": Preempt,
}
"""Extension points and their protocols; the entry point group is `ganglion.<point>`."""


class InstalledPlugin(Struct, frozen=True):
    """One plugin that is installed.

    Attributes:
        point: `filters`, `scores`, `permits` or `preempts`.
        name: the name policies use.
        origin: the distribution it comes from, or `ganglion`.
        error: why it cannot be used; empty = it can.
    """

    point: str
    name: str
    origin: str
    error: str = ""


def load(policy: Policy) -> Plugins:
    """Make the plugins that a policy names. Raises PluginError."""
    return Plugins(
        tuple((_make("scores", each.name), each.weight) for each in policy.scores),
        tuple(_make("filters", name) for name in policy.filters),
        tuple(_make("permits", name) for name in policy.permits),
        tuple(_make("preempts", name) for name in policy.preempts),
        {name: _make("scores", name) for name in of_kinds(policy)},
    )


def of_kinds(policy: Policy) -> tuple[str, ...]:
    """Names of the Score plugins that a policy's rules of kinds name."""
    return tuple(dict.fromkeys(s.name for each in policy.kinds.values() for s in each.scores))


def installed() -> list[InstalledPlugin]:
    """All plugins that policies may name, the broken ones with their error."""
    found = [InstalledPlugin("scores", name, "ganglion") for name in SCORES]
    found += [
        InstalledPlugin(point, entry.name, _origin(entry), _error(point, entry))
        for point in POINTS
        for entry in entry_points(group=f"ganglion.{point}")
    ]
    return sorted(found, key=lambda each: (each.point, each.name))


def _make(point: str, name: str) -> Any:  # noqa: ANN401 - one of four protocols
    if point == "scores" and name in SCORES:
        return builtin_score(name)
    entries = [entry for entry in entry_points(group=f"ganglion.{point}") if entry.name == name]
    if not entries:
        known = [each.name for each in installed() if each.point == point]
        raise PluginError(
            f"there is no plugin {name} among the {point}",
            f"installed are {', '.join(known) or 'none'}; see `ganglion plugins`",
        )
    if len(entries) > 1:
        raise PluginError(
            f"plugin {name} of {point} is provided more than once:"
            f" {', '.join(_origin(entry) for entry in entries)}",
            "uninstall all but one",
        )
    return _checked(point, entries[0])


def _checked(point: str, entry: EntryPoint) -> Any:  # noqa: ANN401 - one of four protocols
    try:
        plugin = entry.load()()
    except Exception as error:
        raise PluginError(f"plugin {entry.name} cannot be loaded: {error}") from error
    if not isinstance(plugin, POINTS[point]):
        raise PluginError(
            f"plugin {entry.name} is no {POINTS[point].__name__}",
            "it must have the attributes and methods of that protocol in ganglion.engine.plugins",
        )
    return plugin


def _error(point: str, entry: EntryPoint) -> str:
    try:
        _checked(point, entry)
    except PluginError as error:
        return error.message
    return ""


def _origin(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "unknown"
