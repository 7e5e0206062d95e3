"""The plugins that a policy names."""

from collections.abc import Callable

from msgspec.structs import replace

from ganglion.engine.plugins.protocols import Plugins
from ganglion.model.errors import FieldError, PluginError
from ganglion.model.policy import Policy
from ganglion.specs.wording import first_of

Load = Callable[[Policy], Plugins]
POINTS = ("scores", "filters", "permits", "preempts")
BARE = Policy(scores=())


def named(policy: Policy) -> tuple[object, ...]:
    """What decides which plugins are loaded."""
    return tuple(getattr(policy, point) for point in POINTS)


def checking(load: Load) -> Callable[[Policy], None]:
    """A check that all plugins of a policy can be loaded; it raises FieldError with all faults."""

    def check(policy: Policy) -> None:
        problems: list[FieldError] = []
        for point in POINTS:
            try:
                load(replace(BARE, **{point: getattr(policy, point)}))
            except PluginError as error:
                problems.append(FieldError(error.message, key=point, hint=error.hint))
        if problems:
            raise first_of(problems)

    return check
