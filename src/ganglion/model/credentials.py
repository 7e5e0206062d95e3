"""What looks like a credential, by the name of a variable or by the shape of a value.

Source of the shapes: the documented prefixes of the issuers (Hugging Face, OpenAI and those that
follow it, AWS, GitHub, GitLab, Slack and its webhooks), RFC 7519 for JSON Web Tokens,
RFC 3986 for passwords in URLs.
"""

import re
from collections.abc import Mapping

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
LEAST_DISTINCT = 20
"""Different characters of a long value from which it is taken for random; hexadecimal has 16."""


def is_credential(name: str, value: str) -> bool:
    """Whether a variable looks like a credential."""
    if not value:
        return False
    random = _RANDOM.fullmatch(value) is not None and len(set(value)) >= LEAST_DISTINCT
    return bool(_NAME.search(name) or _SHAPE.search(value)) or random


def redacted_text(text: str) -> str:
    """A text without the credentials that can be told by their shape."""
    return _SHAPE.sub(REDACTED, text)


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
