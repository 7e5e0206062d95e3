"""Options that several commands share, so that a letter means the same everywhere.

-a all · -d detach · -e env · -f follow · -h help · -n number of rows · -N namespace
-o output · -q queue · -u user · -v verbose · -w watch · -y yes
"""

from collections.abc import Callable, Iterable
from inspect import getdoc
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from ganglion.cli.output.pager import SETTING

if TYPE_CHECKING:
    from ganglion.transport.tls.files import TlsOption

F = TypeVar("F", bound=Callable[..., Any])

HELP_STYLE = click.RichHelpConfiguration(
    theme="default-slim",
    text_paragraph_linebreaks="\n\n",
    padding_helptext_first_line=(0, 0, 1, 0),
    style_helptext="",
)


def settings(**own: object) -> dict[str, Any]:
    """Return the context settings of every command, with what one has of its own."""
    return {"help_option_names": ["-h", "--help"], "rich_help_config": HELP_STYLE, **own}


def command(
    name: str, *examples: str, program: str = "ganglion", **own: object
) -> Callable[[Callable[..., Any]], click.RichCommand]:
    """Declare a command in the common style.

    Args:
        name: as people type it.
        examples: command lines without `program`, shown at the end of its help.
        program: what its command lines begin with.
        own: context settings of this command alone.
    """

    def declare(function: Callable[..., Any]) -> click.RichCommand:
        return click.command(
            name,
            cls=click.RichCommand,
            help=_help(function, program, examples),
            context_settings=settings(**own),
        )(function)

    return declare


def _help(function: Callable[..., Any], program: str, examples: tuple[str, ...]) -> str:
    text = getdoc(function) or ""
    lines = "\n".join(f"  {program} {example}" for example in examples)
    return f"{text}\n\n\b\nExamples:\n{lines}" if examples else text


def refuse(*wrong: str) -> None:
    """Raise UsageError with everything that is wrong with the flags; empty texts say nothing."""
    if found := [each for each in wrong if each]:
        raise click.UsageError("; ".join(found))


def output(*forms: str) -> Callable[[F], F]:
    """Add `-o/--output` with these forms; the first is the default."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help="How to print.",
    )


def tls(given: "Iterable[TlsOption]") -> Callable[[F], F]:
    """Add options of TLS."""

    def add(function: F) -> F:
        for each in reversed(tuple(given)):
            kind = {"type": click.Choice(each.choices)} if each.choices else {"metavar": "FILE"}
            default = None if each.choices else ""
            function = click.option(each.flag, default=default, help=each.help, **kind)(function)
        return function

    return add


def list_output(function: F) -> F:
    """Add `-o`, `--csv` and `--no-pager` of commands that print a list."""
    return list_output_with()(function)


def list_output_with(*forms: str) -> Callable[[F], F]:
    """Add the same, with more forms."""

    def add(function: F) -> F:
        function = click.option(
            "--no-pager",
            is_flag=True,
            expose_value=False,
            callback=_no_pager,
            help="Print long lists straight to the terminal, not through $PAGER.",
        )(function)
        function = click.option(
            "--csv", "form", flag_value="csv", help="Print comma-separated values."
        )(function)
        return output("table", "wide", "json", "yaml", "csv", *forms)(function)

    return add


def _no_pager(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    ctx.meta[SETTING] = value


def watch(function: F) -> F:
    """Add `-w/--watch`."""
    return click.option(
        "-w", "--watch", is_flag=True, help="Keep the screen up to date until Ctrl-C."
    )(function)


def since_ms(text: str, now: int) -> int:
    """Read the value of `--since`: a moment, or `all` for ever. Raises FieldError like `moment`."""
    return 0 if text == "all" else moment(text, now, "--since")


def moment(text: str, now: int, option: str) -> int:
    """Read `24h` (ago), a date, or a date and time into ms since 1970.

    Raises:
        FieldError: it is none of these; names the option.
    """
    from ganglion.model.errors import FieldError
    from ganglion.specs.grammar.times.durations import parse_duration
    from ganglion.specs.grammar.times.instants import parse_when

    try:
        return max(now - parse_duration(text), 0)
    except FieldError:
        pass
    try:
        return parse_when(text, now)
    except FieldError as error:
        hint = "write 24h (ago), 2026-11-01 or 2026-11-01T08:00"
        raise FieldError(error.problem, key=option, hint=hint) from error
