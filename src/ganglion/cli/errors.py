"""How errors look: one sentence, one hint, an exit code; JSON for programs."""

import itertools
import json

import click

from ganglion.cli.output.screen import is_coloured
from ganglion.extras import explained
from ganglion.model.errors import FieldError, GanglionError

INTERNAL = 70
"""Exit code of a bug in Ganglion itself (EX_SOFTWARE)."""
SERVERS = ("ganglion", "state.invariant")
"""Codes of faults of the server, about which its log says more."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells count it."""


def wants_json(argv: list[str]) -> bool:
    """Whether `-o json` was asked for; read from `argv` because parsing may have failed."""
    own = argv[: argv.index("--")] if "--" in argv else argv
    joined = {"-ojson", "--output=json", "-o=json"} & set(own)
    pairs = itertools.pairwise(own)
    return bool(joined) or any(a in ("-o", "--output") and b == "json" for a, b in pairs)


def report(code: str, message: str, hint: str, *, as_json: bool, request: str = "") -> None:
    """Print one error on stderr.

    Args:
        code: stable, dotted.
        message: what is wrong.
        hint: what to do about it.
        as_json: for programs.
        request: id of the request that was refused, as the server's log names it.
    """
    if as_json:
        said = {"code": code, "message": message, "hint": hint}
        click.echo(json.dumps(said | ({"request": request} if request else {})), err=True)
        return
    _say("Error:", "red", message)
    if hint:
        _say("Hint:", "cyan", hint)
    if request and code.startswith(SERVERS):
        _say("Request:", "cyan", f"{request}, in server.log")


def report_known(error: GanglionError, *, as_json: bool) -> int:
    """Print an error of the tree and return its exit code."""
    if isinstance(error, FieldError) and (error.others or error.column):
        _report_fields(error, as_json=as_json)
    else:
        report(error.code, error.message, error.hint, as_json=as_json, request=error.request)
    return error.exit_code


def _report_fields(error: FieldError, *, as_json: bool) -> None:
    """Print everything that is wrong with an input, each with its line and column."""
    if as_json:
        keys = ("file", "line", "column", "key", "hint")
        wrong = [
            {"detail": each.problem} | {key: getattr(each, key) for key in keys}
            for each in error.errors
        ]
        said = {"code": error.code, "message": error.message, "hint": error.hint}
        click.echo(json.dumps(said | {"errors": wrong}), err=True)
        return
    for each in error.errors:
        spots = (each.file, each.line, each.column) if each.file else ()
        place = ":".join(str(part) for part in spots if part)
        report(
            each.code,
            ": ".join(filter(None, (place, each.key, each.problem))),
            each.hint,
            as_json=False,
        )


def report_usage(error: click.ClickException, *, as_json: bool) -> int:
    """Print a mistake in the command line and return its exit code (2)."""
    ctx = getattr(error, "ctx", None)
    hint = f"{ctx.command_path if ctx else 'ganglion'} --help"
    report("input.usage", error.format_message().rstrip("."), hint, as_json=as_json)
    return 2


def report_bug(error: BaseException, *, as_json: bool) -> int:
    """Print an unexpected error in one line and return its exit code (70).

    A module of an extra that is not installed is no bug: the extra is named.
    """
    if isinstance(error, ModuleNotFoundError) and (fault := explained(error)):
        return report_known(fault, as_json=as_json)
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    message = f"Ganglion failed unexpectedly: {what}"
    report("internal", message, "ganglion --debug … shows where; please report it", as_json=as_json)
    return INTERNAL


def _say(label: str, colour: str, text: str) -> None:
    head = click.style(label, fg=colour, bold=True)
    click.echo(f"{head} {text}", err=True, color=is_coloured(stderr=True))
