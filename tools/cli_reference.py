"""Writes docs/cli.md from the command line itself, so that the page stays true.

python tools/cli_reference.py            write the page
python tools/cli_reference.py --check    1 = the page is out of date
"""

import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from ganglion.cli.main import cli
from ganglion.cli.registry import COMMANDS, SECTIONS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
INTRODUCTION = """\
# The command line

Every command, generated from the program itself. `ganglion COMMAND --help` prints the same.

## The first five minutes

```
$ ganglion up --nodes 4 --fake-gpus H100:8 --racks 2   # no GPU needed
$ ganglion run --gpus 1 -- python train.py             # attached; exits with the job's code
$ ganglion submit train.yaml --dry-run                 # fits now? where? if not: why, what helps
$ ganglion submit train.yaml -d && ganglion ps --watch
$ ganglion why train                                   # reason, evidence, what would help
$ ganglion logs train -f --tail 100 --rank 0
$ ganglion down
```

## What holds everywhere

**Naming a job.** JOB is its id (`train-7`), the beginning of one that fits no other, or its name
(the latest of that name). `JOB/3` is its replica or trial number 3.

**Attached and detached.** `run` and `submit` stay with the job, whether or not a person sits at
the terminal: they print why it waits, then the log of rank 0 (of every process with
`--all-ranks`), and exit with the job's own code. Ctrl-C leaves the job running and prints how to
come back. `-d` does not attach; it prints the id alone on stdout, for scripts. `--wait` waits for
the end without printing logs. With `-o json` the answer is printed and nothing is followed,
unless `--wait` is given.

**Submitting once.** A submit that is interrupted, even by `kill -9`, is neither lost nor done
twice: give the same command again within an hour and the server recognises it.

**Which jobs.** `ps`, `queue`, `cancel` and `update` take ids, names and patterns (`'train-*'`;
quote them from the shell), and filters: `--state`, `-q`, `-u`, `--kind`. Several values are
alternatives (`-q red,blue`), several filters all have to hold. `update -q` moves to a queue;
its filter is `--from-queue`. `cancel` asks before it acts on the beginning of an id, on
`--all`, and on a filter or pattern that fits more than one job; without a terminal it
refuses, unless `--yes` is given.

**Output.** Tables are for people. Through a pipe nothing is cut and there is no colour; on a
terminal a list that is longer than the screen goes through `$PAGER` (`less`), unless
`--no-pager` is given or `PAGER` is empty. Where a table is wider than the terminal, in this
order:

1. texts (as MESSAGE, REASON, NODES) are cut from the right, between words: `after …`;
2. identifiers of more than 28 columns get a line of their own, the rest of the row follows below;
3. columns are left out from the right, STATE and REASON last;
4. an identifier wider than the terminal is folded.

No identifier is cut, and no line is wider than the terminal. `-o wide` shows every column at
its full width, however wide that is; `-o json`, `-o yaml` and `--csv` are for programs, and
column names never change. Logs, ids and data go to stdout, messages for people to stderr.
With `-o json` errors are JSON too, with `code`, `message` and `hint`. All errors of all
files and of the flags that change workloads are printed at once, and then nothing is submitted;
they read `FILE:LINE:COLUMN: KEY: ...` (`errors` in JSON). `NO_COLOR` and `FORCE_COLOR`
are respected.

**One letter, one meaning:** `-a` all, `-d` detach, `-e` variable, `-f` follow, `-h` help, `-n`
number of rows, `-N` namespace, `-o` output, `-q` queue, `-u` user, `-v` verbose, `-w` watch,
`-y` yes.
(`apply -f` names a file; `submit -f FILE` is accepted for users of kubectl.)

**Each request.** `-v` (`--verbose`), before or after any command, prints a line on stderr for each
request to the server: method, path, status, time until the answer begins, request id (the key
`request` in `server.log`), and the socket or URL; a request that is sent again says why and after
which wait. Tokens are not in it, values that look like credentials are replaced by
`<redacted>`. Requests to the API server of a cluster (`--context`) are not printed.

**Exit codes.**

| Code | Meaning |
|---|---|
| 0 | done; `--dry-run`: would start now |
| 1 | refused by the present state or the machine; `--dry-run`: would wait, or can never start |
| 2 | wrong usage or input |
| 3 | `up`: another home executes the ledger |
| 70 | a bug in Ganglion; `ganglion --debug …` shows where |
| 124 | attached: the job was over its time limit |
| 130 | interrupted by Ctrl-C; an attached job goes on |
| other | attached: the job's own code; 128 + n after signal n |

**Environment.**

| Variable | Meaning |
|---|---|
| `GANGLION_HOME` | where token, ledger and logs live; `~/.ganglion` without it |
| `GANGLION_URL`, `GANGLION_TOKEN` | the server to talk to; without them, that of the home, or \
of the latest `ganglion login`: see [the order](access.md#signing-in-from-the-command-line) |
| `XDG_CONFIG_HOME` | where `ganglion/logins.json` lies; `~/.config` without it |
| `GANGLION_CA_FILE` | authorities by which `https://` is verified; without it, the system's |
| `GANGLION_CONTEXT` | the cluster to use, as `--context`: see [Kubernetes](kubernetes-submit.md) |
| `GANGLION_SCHEDULER` | where that cluster's scheduler answers: `NAMESPACE/SERVICE:PORT` |
| `GANGLION_DEBUG=1` | tracebacks, as `--debug` |
| `GANGLION_VERBOSE=1` | each request to the server on stderr, as `-v` |

**Completion** of commands, options, and of the names of live jobs, queues and nodes:
`eval "$(ganglion completion bash)"`; zsh and fish work alike.

**From Python.** `ganglion.client.Client` offers what the commands do as typed calls, and
raises the errors of `ganglion.model.errors` with the same message and hint:

```python
from ganglion.client import Client

with Client.from_home() as client:
    job = client.submit({"name": "hello", "run": "python train.py", "resources": {"gpus": 1}})
    for gang in client.why(job.id).explanations:
        print(gang.text)
```
"""


def page() -> str:
    """Return the whole page."""
    parts = [INTRODUCTION]
    for section in SECTIONS:
        parts.append(f"## {section}\n")
        names = [name for name, entry in COMMANDS.items() if entry.section == section]
        for name in names:
            parts += _command(click.Context(cli, info_name="ganglion"), name, "###")
    return "\n".join(parts)


def _command(parent: click.Context, name: str, heading: str) -> Iterator[str]:
    group = parent.command
    assert isinstance(group, click.Group)
    command = group.get_command(parent, name)
    assert command is not None
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"{heading} `{context.command_path}`\n"
    yield f"```\n{usage}\n```\n"
    yield _prose(command.help or "")
    options = [_row(p) for p in command.params if isinstance(p, click.Option) and _own(p)]
    if options:
        yield "| Option | Meaning |\n|---|---|\n" + "\n".join(options) + "\n"
    if isinstance(command, click.Group):
        for child in command.commands:
            yield from _command(context, child, "####")


def _own(option: click.Option) -> bool:
    """Whether an option is listed with its command; `-v` is one of every command."""
    return not option.hidden and option.name != "verbose"


def _prose(text: str) -> str:
    """Turn help text into Markdown: the block of examples becomes code."""
    said, _, examples = cleandoc(text).partition("\n\n\b\nExamples:\n")
    code = f"\n\n```\n{cleandoc(examples)}\n```" if examples else ""
    return f"{_escaped(said)}{code}\n"


def _row(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    metavar = "" if option.is_flag else f" `{_metavar(option)}`"
    default = option.default if option.show_default and option.default is not None else None
    text = _escaped(option.help or "") + (f" [default: {default}]" if default is not None else "")
    return f"| {names}{metavar} | {text} |"


def _metavar(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return "/".join(map(str, option.type.choices))
    return option.metavar or option.type.name.upper().replace(" RANGE", "")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "\\<")


def main() -> int:
    """Write or check the page."""
    text = page()
    if "--check" in sys.argv[1:]:
        current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        print(f"{PAGE.name} is {'current' if current else 'out of date: run this without --check'}")
        return int(not current)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
