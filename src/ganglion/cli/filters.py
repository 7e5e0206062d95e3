"""Options that say which workloads a command is about; they mean the same everywhere."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from ganglion.cli.connection.connect import complete_queues
from ganglion.client.states import STYLES

if TYPE_CHECKING:
    from ganglion.client.filters import Filters

F = TypeVar("F", bound=Callable[..., Any])

KINDS = ("train", "service", "workspace", "sweep", "batch")


class Several(click.ParamType[list[str]]):
    """One word or several with commas between them, as `QUEUED,RUNNING`.

    Args:
        known: words that there are, in any case; empty = any word.
    """

    name = "several"

    def __init__(self, *known: str) -> None:
        self._known = {each.lower(): each for each in known}

    # Click fixes the arguments.
    def convert(
        self,
        value: Any,  # noqa: ANN401  # whatever Click gives
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> list[str]:
        """Return the words."""
        words = [each.strip() for each in str(value).split(",") if each.strip()]
        if not self._known:
            return words
        unknown = [each for each in words if each.lower() not in self._known]
        if unknown:
            self.fail(f"{unknown[0]!r} is none of {', '.join(self._known.values())}", param, ctx)
        return [self._known[each.lower()] for each in words]


def filter_options(*, state: bool = True, queue: str = "-q/--queue") -> Callable[[F], F]:
    """Add the options; the command gets them as `filters`.

    Args:
        state: whether there is one for states.
        queue: flags of the one for queues.
    """
    options = [
        click.option(
            *queue.split("/"),
            "in_queue",
            multiple=True,
            type=Several(),
            metavar="NAME",
            shell_complete=complete_queues,
            help="Only this queue; several: a,b.",
        ),
        click.option(
            "-u",
            "--user",
            "of_user",
            multiple=True,
            type=Several(),
            metavar="NAME",
            help="Only this user.",
        ),
        click.option(
            "--kind",
            "of_kind",
            multiple=True,
            type=Several(*KINDS),
            metavar="KIND",
            help="Only this kind, as train or service.",
        ),
    ]
    if state:
        in_state = click.option(
            "--state",
            "in_state",
            multiple=True,
            type=Several(*STYLES),
            metavar="STATE",
            help="Only this state, as queued or running.",
        )
        options.insert(0, in_state)

    def add(function: F) -> F:
        @wraps(function)
        def command(
            *args: Any,  # noqa: ANN401  # whatever the command takes
            in_queue: tuple[list[str], ...],
            of_user: tuple[list[str], ...],
            of_kind: tuple[list[str], ...],
            in_state: tuple[list[str], ...] = (),
            **others: Any,  # noqa: ANN401  # likewise
        ) -> Any:  # noqa: ANN401  # likewise
            given = {"state": in_state, "queue": in_queue, "user": of_user, "kind": of_kind}
            filters = {
                key: [word for each in value for word in each] for key, value in given.items()
            }
            return function(*args, filters={k: v for k, v in filters.items() if v}, **others)

        for option in reversed(options):
            command = option(command)
        return command  # type: ignore[return-value]  # options and all

    return add


def is_pattern(name: str) -> bool:
    """Whether a name is a pattern, in which `*`, `?` and `[a-z]` match as in file names."""
    return any(each in name for each in "*?[")


def with_names(filters: "Filters", names: tuple[str, ...]) -> "Filters":
    """Return filters that also want one of these ids, names or patterns; none = any."""
    return {**filters, "name": list(names)} if names else filters
