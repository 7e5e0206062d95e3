"""What looks like a credential, by the name of a variable or by the shape of a value.

Source of the shapes: the documented prefixes of the issuers (Hugging Face, OpenAI and those that
follow it, AWS, GitHub, GitLab, Slack and its webhooks), RFC 7519 for JSON Web Tokens,
RFC 3986 for passwords in URLs.
"""

import re
from collections.abc import Mapping, Sequence

REDACTED = "<redacted>"
"""Stands in outputs for a value that is not shown."""

_NAME = re.compile(
    r"(^|_)(TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)$|PASSWORD$|APIKEY$", re.I
)
_SHAPE = re.compile(
    r"\bhf_[A-Za-z0-9]{16,}"
    r"|\bsk-[A-Za-z0-9_-]{16,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\bxox[abeprs]-[A-Za-z0-9-]{10,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r"|(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"
    r"|(?<=://hooks\.slack\.com/)[A-Za-z0-9/_-]{16,}"
)
_RANDOM = re.compile(r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])(?!/)[A-Za-z0-9+/_=-]{32,}")
_GIVEN = re.compile(
    r"(?P<head>(?<![\w-])(?P<name>[A-Za-z_-][\w-]*)(?:=|:\s+)|(?<!\S)--?(?P<option>[A-Za-z][\w-]*)\s+)"
    r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s\"';|&]+)"
)
"""A variable, a header or an option with its value, in a line for a shell."""
_HEADER = re.compile(r"(?<=\b)(Bearer|Basic|Token)\s+[A-Za-z0-9._~+/=-]{8,}", re.I)
LEAST_DISTINCT = 20
"""Different characters of a long value from which it is taken for random; hexadecimal has 16."""


def is_credential(name: str, value: str) -> bool:
    """Whether a variable looks like a credential."""
    if not value:
        return False
    return bool(_NAME.search(name) or _SHAPE.search(value)) or _is_random(value)


def _is_random(value: str) -> bool:
    return _RANDOM.fullmatch(value) is not None and len(set(value)) >= LEAST_DISTINCT


def redacted_text(text: str) -> str:
    """A text without the credentials that can be recognized by their shape."""
    return _SHAPE.sub(REDACTED, text)


def redacted_command(words: Sequence[str]) -> tuple[str, ...]:
    """An argument vector without credentials: in values of variables and options, or by shape."""
    shown, name = list[str](), ""
    for word in words:
        whole = _is_random(word) or (_NAME.search(name) and not word.startswith("-"))
        shown.append(REDACTED if whole else _redacted_line(word))
        name = _name(word) if word.startswith("-") and "=" not in word else ""
    return tuple(shown)


def _redacted_line(line: str) -> str:
    def without(found: re.Match[str]) -> str:
        name = _name(found["name"] or found["option"])
        secret = is_credential(name, found["value"].strip("\"'"))
        value = found["value"]
        inner = _GIVEN.sub(without, value) if value[0] in "\"'" else value
        return found["head"] + (REDACTED if secret else inner)

    return redacted_text(_HEADER.sub(rf"\1 {REDACTED}", _GIVEN.sub(without, line)))


def _name(word: str) -> str:
    """The name of a variable for an option: `API_KEY` for `--api-key`."""
    return word.lstrip("-").replace("-", "_")


def redacted(document: Mapping[str, object]) -> dict[str, object]:
    """A workload file as it may be shown: names in place of secrets, no credentials."""
    shown = {key: _redacted(value) for key, value in document.items()}
    for key in ("env", "secrets"):
        given = document.get(key)
        if isinstance(given, Mapping):
            shown[key] = {name: _shown(key, str(name), each) for name, each in given.items()}
    return shown


def _shown(key: str, name: str, value: object) -> object:
    if key == "secrets":
        return None
    return REDACTED if isinstance(value, str) and is_credential(name, value) else value


def _redacted(value: object) -> object:
    if isinstance(value, str):
        return redacted_text(value)
    if isinstance(value, Mapping):
        return {key: _redacted(each) for key, each in value.items()}
    return [_redacted(each) for each in value] if isinstance(value, list | tuple) else value
