"""The entry point `ganglion`: parses, runs, and turns every failure into words."""

import os
import sys
from itertools import takewhile
from typing import NoReturn

import click

from ganglion import __version__
from ganglion.cli.errors import (
    INTERRUPTED,
    report_bug,
    report_known,
    report_usage,
    wants_json,
)
from ganglion.cli.lazy import LazyGroup
from ganglion.cli.verbose import verbose_option
from ganglion.model.errors import GanglionError

PROGRAM = "ganglion"

READER_LEFT = 1
"""Exit code when no process reads stdout any more, as Click has it."""

HELP = """Schedules AI containers on shared GPUs, and says why every job waits.

\b
  ganglion up --nodes 4 --fake-gpus 8     start here, no GPU needed
  ganglion run --gpus 1 -- python train.py
  ganglion why JOB
"""


@click.group(
    cls=LazyGroup,
    help=HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show a traceback when something fails.")
def cli(debug: bool) -> None:
    """Hold what all commands share; `run` has read `--debug` already."""


cli.params.append(verbose_option())


def main(
    argv: list[str] | None = None, root: click.Command = cli, program: str = PROGRAM
) -> NoReturn:
    """Run a command line and exit.

    Exit codes: 0 done, 1 refused by the present state or the machine, 2 wrong usage or input,
    3 another home executes the ledger, 70 a bug in Ganglion, 130 interrupted; attached jobs exit
    with their own code.

    Args:
        argv: arguments; None = those of this process.
        root: the command that they are for.
        program: how it is called.
    """
    args = sys.argv[1:] if argv is None else argv
    code = run(args, root, program)
    sys.exit(_flushed(code))


def run(args: list[str], root: click.Command = cli, program: str = PROGRAM) -> int:
    """Run a command line and return the exit code; every expected failure is reported."""
    as_json = wants_json(args)
    own = takewhile(lambda arg: arg.startswith("-"), args)
    debug = "--debug" in own or os.environ.get("GANGLION_DEBUG") == "1"
    try:
        result = root.main(args, prog_name=program, standalone_mode=False)
    except GanglionError as error:
        if debug:
            raise
        return report_known(error, as_json=as_json)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        return report_usage(error, as_json=as_json)
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except Exception as error:
        if debug:
            raise
        return report_bug(error, as_json=as_json)
    return result if isinstance(result, int) else 0


def _flushed(code: int) -> int:
    """Flush stdout now, so that a reader that left early causes no message at exit."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_LEFT
    return code
