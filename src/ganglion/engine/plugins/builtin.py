"""The plugins that come with the engine, by name."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from ganglion.engine.plugins.protocols import Plugins
from ganglion.model.errors import FieldError, PluginError
from ganglion.model.kinds import Weighted
from ganglion.model.policy import Policy

SCORES: Mapping[str, str] = {
    "ganglion": "ganglion.engine.plugins.scores.ganglion:GanglionScore",
    "fgd": "ganglion.engine.plugins.scores.fgd:FgdScore",
    "bestfit": "ganglion.engine.plugins.scores.bestfit:BestFitScore",
    "packing": "ganglion.engine.plugins.scores.packing:PackingScore",
    "binpack": "ganglion.engine.plugins.scores.binpack:BinpackScore",
    "spread": "ganglion.engine.plugins.scores.spread:SpreadScore",
    "memory": "ganglion.engine.plugins.scores.memory:MemoryScore",
    "random": "ganglion.engine.plugins.scores.random:RandomScore",
}
"""Score plugins by name, each as `module:class`."""


def builtin_score(name: str) -> Any:  # noqa: ANN401 - a Score, checked by who loads it
    """Make a built-in Score plugin. Raises PluginError."""
    target = SCORES.get(name)
    if target is None:
        raise PluginError(
            f"there is no built-in score {name}", f"built in are {', '.join(sorted(SCORES))}"
        )
    module, _, cls = target.partition(":")
    make: Callable[[], Any] = getattr(import_module(module), cls)
    return make()


def check_scores(plugins: Plugins, scores: Iterable[Weighted]) -> None:
    """Check that all Score plugins of rules of a kind are built in or loaded. Raises FieldError."""
    for each in scores:
        if each.name not in SCORES and each.name not in plugins.of_kinds:
            raise FieldError(
                f"the score {each.name} is neither built in nor named by the policy's kinds",
                key="kinds",
                hint=f"built in are {', '.join(sorted(SCORES))}; others are loaded where `kinds` of"
                " the policy names them",
            )


def builtin_plugins(policy: Policy) -> Plugins:
    """The plugins of a policy that names built-in ones only. Raises PluginError."""
    for name in (*policy.filters, *policy.permits, *policy.preempts):
        raise PluginError(f"plugin {name} is not built in", "load it with ganglion.extensions.load")
    for rules in policy.kinds.values():
        check_scores(Plugins(()), rules.scores)
    return Plugins(tuple((builtin_score(each.name), each.weight) for each in policy.scores))
