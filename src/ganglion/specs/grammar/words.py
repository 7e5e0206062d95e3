"""Words of closed lists: priorities, signals, causes of a restart."""

import re
from collections.abc import Callable
from signal import Signals

from ganglion.model.credentials import redacted_text
from ganglion.model.errors import FieldError
from ganglion.specs.grammar.lists import each_of, mapped
from ganglion.specs.grammar.names import parse_name, parse_variable
from ganglion.specs.grammar.scalars import parse_text, parse_whole
from ganglion.specs.wording import listed, meant, show

PRIORITIES = {"idle": 0, "low": 25, "normal": 50, "high": 75, "urgent": 100}
OOM, CRASH_LOOP = "oom", "crash_loop"
"""Memory ran out, or it fails at once again and again: another try seldom cures either."""
ISOLATIONS = ("none", "kind", "queue", "workload")
SECRET = "secret:"
"""What stands before the name of a secret that holds a URL or a key."""
_URL = re.compile(r"https?://[^\s/@]+(/\S*)?")
HAPPENINGS = ("end", "failure", "start", "preemption", "budget", "waiting")
"""What people may be notified of."""
CAUSES = ("failure", "node_failure", "preemption", "start_failure")
CAUSE_ALIASES = {"error": "failure", "interruption": "preemption", "preempted": "preemption"}
KIND_ALIASES = {
    "training": "train",
    "inference": "service",
    "serving": "service",
    "notebook": "workspace",
    "interactive": "workspace",
    "dev-environment": "workspace",
    "array": "sweep",
    "hpo": "sweep",
    "job": "batch",
    "task": "batch",
}


def one_of(words: tuple[str, ...], aliases: dict[str, str]) -> Callable[[object], str]:
    """Make a parser of one word of a closed list."""

    def parse(value: object) -> str:
        word = parse_text(value).strip().lower()
        if word not in aliases and word.replace("-", "_") in {*words, *aliases}:
            word = word.replace("-", "_")
        word = aliases.get(word, word)
        if word not in words:
            hint = meant(word, aliases | {each: each for each in words}) or f"use {listed(words)}"
            raise FieldError(f"{show(value)} is not known here", hint=hint)
        return word

    return parse


def parse_priority(value: object) -> int | str:
    """Return a number of 0..100 or the name of a priority class, which policies may add to."""
    if isinstance(value, str) and any(letter.isalpha() for letter in value):
        return parse_name(value.strip().lower())
    return parse_whole(value, 0, 100)


def parse_signal(value: object) -> str:
    """Return a catchable signal as `SIGTERM`; `TERM` and 15 are the same."""
    text = parse_text(value).strip().upper()
    names = {signal.name: signal.name for signal in Signals}
    names |= {name.removeprefix("SIG"): name for name in names.values()}
    names |= {str(signal.value): signal.name for signal in Signals}
    if text not in names:
        raise FieldError(f"there is no signal {show(value)}", hint=meant(text, names))
    if names[text] in ("SIGKILL", "SIGSTOP"):
        raise FieldError(f"no program can react to {names[text]}", hint="use SIGTERM or SIGUSR1")
    return names[text]


def parse_causes(value: object) -> tuple[str, ...]:
    """Return causes of a restart, each once."""
    one = one_of(CAUSES, CAUSE_ALIASES)
    return tuple(dict.fromkeys(each_of(value, one)))


def parse_happenings(value: object) -> tuple[str, ...]:
    """Return what people are notified of, each once."""
    one = one_of(HAPPENINGS, {"begin": "start", "fail": "failure", "requeue": "preemption"})
    return tuple(dict.fromkeys(each_of(value, one)))


def parse_addresses(value: object) -> tuple[str, ...]:
    """Return mail addresses; one is a list of one."""
    return tuple(dict.fromkeys(each_of(value, _address)))


def _address(value: object) -> str:
    text = parse_text(value).strip()
    local, at, host = text.rpartition("@")
    plain = text.isprintable() and not set(text) & set(" ,;<>\"'()")
    if not (local and at and host and plain and not text.startswith("-")):
        raise FieldError(f"{show(value)} is no mail address", hint="as ada@example.org")
    return text


def parse_secret_reference(value: object) -> str:
    """Return `secret:NAME`, the name of a secret."""
    text = parse_text(value).strip()
    if not text.startswith(SECRET):
        hint = "`ganglion secret set KEY`, and write `secret:KEY`"
        raise FieldError("a key is not written into files, which are kept", hint=hint)
    return SECRET + parse_variable(text.removeprefix(SECRET))


def parse_webhooks(value: object) -> tuple[str, ...]:
    """Return URLs and names of secrets that hold one; one is a list of one."""
    return tuple(dict.fromkeys(each_of(value, _webhook)))


def _webhook(value: object) -> str:
    text = parse_text(value).strip()
    if text.startswith(SECRET):
        return parse_secret_reference(text)
    if not _URL.fullmatch(text):
        hint = "as https://example.org/hook, or `secret:NAME`"
        raise FieldError(f"{show(value)} is no URL", hint=hint)
    if redacted_text(text) != text:
        raise FieldError(
            "this URL lets its holder post, and files are kept in the ledger",
            hint="`ganglion secret set HOOK`, and write `webhook: secret:HOOK`",
        )
    return text


def parse_cause_limits(value: object, most: int) -> dict[str, int]:
    """Return cause -> most restarts after it."""
    one = one_of((*CAUSES, OOM, CRASH_LOOP), CAUSE_ALIASES)
    return mapped(value, one, lambda each: parse_whole(each, 0, most))


def parse_port(value: object) -> int:
    """Return a TCP port; a list of one is accepted."""
    items = value if isinstance(value, list) else [value]
    if len(items) != 1:
        raise FieldError("exactly one port can be served", hint="as `port: 8000`")
    return parse_whole(items[0], 1, 65_535)
