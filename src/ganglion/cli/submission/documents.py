"""What is sent to the server: files and commands with the flags of the command line applied."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import rich_click as click

from ganglion.cli.connection.connect import complete_queues
from ganglion.cli.output.screen import note
from ganglion.cli.workloads.ps import fetch
from ganglion.model.errors import FieldError, InputError

if TYPE_CHECKING:
    from ganglion.client.workload_client import WorkloadClient
    from ganglion.specs.workload.workload import WorkloadFile

F = TypeVar("F", bound=Callable[..., Any])
Document = dict[str, Any]

OPTIONS = (
    click.option("--name", help="Name of the workload."),
    click.option("--kind", metavar="KIND", help="train, service, workspace, sweep or batch."),
    click.option(
        "-q",
        "--queue",
        metavar="NAME",
        shell_complete=complete_queues,
        help="Queue of the workload.",
    ),
    click.option("--gpus", metavar="GPUS", help="GPUs per node: 8, H100:8, A100:80GB:4, 0.5."),
    click.option("--nodes", metavar="N", help="Nodes, all or nothing; 2..4 is elastic."),
    click.option("--procs", metavar="N", help="Processes per node."),
    click.option("--cpus", metavar="CPUS", help="CPU cores per node."),
    click.option("--memory", metavar="SIZE", help="Host memory per node, as 64Gi."),
    click.option("--time-limit", "--time", metavar="TIME", help="Longest run time, as 2h."),
    click.option("--priority", metavar="P", help="0 to 100, or low, normal, high, urgent."),
    click.option("--placement", metavar="LEVEL", help="rack, node, prefer_rack, …"),
    click.option(
        "-e",
        "--env",
        multiple=True,
        metavar="NAME[=VALUE]",
        help="Variable; a bare NAME is a secret.",
    ),
    click.option("--image", help="Container image."),
    click.option("--workdir", metavar="DIR", help="Directory to run in.  [default: this one]"),
)
"""Flags that change a workload; their names are keys of the workload file."""

SHELL = ("PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "LD_LIBRARY_PATH")
"""What makes `python` the same one as in the person's shell; without an image it goes along."""

KEYS = {"procs": "procs_per_node"}


class Submission(NamedTuple):
    """What is to be submitted.

    Attributes:
        document: the workload file in canonical keys.
        made_up: whether its name was generated, so that another one is as good.
        secrets: variables whose values are kept apart and never shown.
    """

    document: Document
    made_up: bool = False
    secrets: frozenset[str] = frozenset()


def workload_options(function: F) -> F:
    """Add the flags that change a workload."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def overrides(flags: Mapping[str, Any]) -> dict[str, object]:
    """Return the flags that were given, by key of the workload file."""
    return {KEYS.get(name, name): _plain(value) for name, value in flags.items() if value}


def from_files(
    paths: Sequence[str], flags: Mapping[str, Any], wrong: Sequence[FieldError] = ()
) -> list[Submission]:
    """Read every document of every file and apply the flags to each.

    Args:
        paths: the files.
        flags: those that change a workload.
        wrong: what is wrong with other flags.

    Raises:
        InputError: files, keys or flags are wrong; all that is wrong.
    """
    from ganglion.compat.workloads import load_workloads
    from ganglion.specs.wording import noted
    from ganglion.specs.workload.workload import apply_overrides, check_overrides

    given, problems = overrides(flags), list(wrong)
    noted(lambda: check_overrides(given), problems)
    docs = []
    for path in paths:
        try:
            docs += load_workloads(path)
        except InputError as error:
            problems += error.errors or [_as_field(error)]
    for warning in (text for doc in docs for text in doc.warnings):
        note(f"Warning: {warning}")
    changed = (
        [] if problems else [noted(partial(apply_overrides, doc, given), problems) for doc in docs]
    )
    jobs = [noted(partial(_job, doc), problems) for doc in changed if doc]
    if problems:
        # What is wrong with a flag is the same for every document.
        first, *others = {str(each): each for each in problems}.values()
        raise first.among(others)
    for doc in changed:
        _warn(doc)
    return [job for job in jobs if job]


def _as_field(error: InputError) -> FieldError:
    """A file that cannot be read, as one of several errors."""
    found = FieldError(error.message, hint=error.hint)
    found.code = error.code
    return found


def from_words(
    words: Sequence[str], flags: Mapping[str, Any], wrong: Sequence[FieldError] = ()
) -> Submission:
    """Return the workload that runs a command; `wrong` is what is wrong with other flags.

    Raises:
        InputError: there is no command, or flags are wrong; all that is wrong.
    """
    from ganglion.specs.wording import noted
    from ganglion.specs.workload.workload import from_command

    problems = list(wrong)
    doc = noted(lambda: from_command(words, overrides(flags)), problems)
    if doc is None or problems:
        raise problems[0].among(problems[1:])
    _warn(doc)
    return _job(doc, made_up=not flags["name"])


def _job(doc: "WorkloadFile", *, made_up: bool = False) -> Submission:
    document = prepared(doc)
    return Submission(document, made_up, frozenset(document.get("secrets", ())))


def _warn(doc: "WorkloadFile | None") -> None:
    """Say which values of `env` are kept as secrets, as that ends what the file alone can do."""
    from ganglion.specs.workload.convert import sheltered

    for name in sheltered(doc) if doc else ():
        note(
            f"Warning: env: {name} looks like a credential: it is kept as a secret until the"
            f" workload ends; to keep it for longer, `ganglion secret set {name}`"
        )


def prepared(doc: "WorkloadFile") -> Document:
    """Fill in what only the person's own shell knows: values of secrets, the directory.

    Bare names of `env` are secrets. One that the shell does not know is left to the server, which
    may keep it by name.
    """
    from ganglion.specs.workload.workload import document, references

    sent: Document = document(doc)
    secrets = {
        name: os.environ.get(name) if value is None else value
        for name, value in references(doc).items()
    }
    given = sent.pop("env", {}).items()
    env = {name: value for name, value in given if name not in secrets}
    if not doc.image:
        env = {name: os.environ[name] for name in SHELL if name in os.environ} | env
        sent["workdir"] = str(Path(doc.workdir or ".").expanduser().absolute())
    return sent | ({"env": env} if env else {}) | ({"secrets": secrets} if secrets else {})


def freely_named(client: "WorkloadClient", job: Submission) -> Document:
    """Return the document, its name numbered when it was generated and is taken."""
    if not job.made_up:
        return job.document
    taken = {view.name for view in fetch(client)}
    name = job.document["name"]
    names = (name, *(f"{name}-{n}" for n in range(2, len(taken) + 2)))
    return {**job.document, "name": next(each for each in names if each not in taken)}


def _plain(value: Any) -> object:  # noqa: ANN401  # what a click option may hold
    return list(value) if isinstance(value, tuple) else value
