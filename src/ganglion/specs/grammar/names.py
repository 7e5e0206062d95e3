"""Names of workloads, queues and nodes, and of environment variables."""

import re

from ganglion.model.errors import FieldError
from ganglion.model.queue import CLUSTER_SIGN
from ganglion.specs.grammar.scalars import parse_text
from ganglion.specs.wording import show

MAX_NAME = 63
ROLES = ("viewer", "submitter", "maintainer", "owner", "operator", "auditor", "admin", "reporter")
"""Roles that can be granted."""
SUBJECTS = ("user:", "group:")
MAX_HOST = 253
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RULE = "use lower-case letters, digits and dashes, as in DNS"


def parse_name(value: object) -> str:
    """Return a DNS label: at most 63 of a-z, 0-9 and inner dashes (RFC 1123)."""
    text = parse_text(value)
    if len(text) > MAX_NAME:
        raise FieldError(f"the name {show(text)} is longer than {MAX_NAME} characters")
    if not _LABEL.fullmatch(text):
        fixed = slug(text)
        hint = f"{_RULE}; `{fixed}` would do" if fixed else _RULE
        raise FieldError(f"{show(text)} is not a usable name", hint=hint)
    return text


def parse_queue(value: object) -> str:
    """Return a queue's name, or its path as `org/team`."""
    return "/".join(parse_name(part) for part in parse_text(value).split("/"))


def parse_any_queue(value: object) -> str:
    """Return a queue as `parse_queue`, or one of a cluster: `east:team`; `east:` is all of it."""
    cluster, sign, queue = parse_text(value).rpartition(CLUSTER_SIGN)
    if not sign:
        return parse_queue(value)
    return f"{parse_host(cluster)}{sign}{parse_host(queue) if queue else ''}"


def parse_host(value: object) -> str:
    """Return a name of a node or of a domain of the topology, as `gpu-01.example.org`."""
    text = parse_text(value)
    if len(text) > MAX_HOST or not _HOST.fullmatch(text):
        hint = "use letters, digits, dashes, dots and underscores"
        raise FieldError(f"{show(text)} is not a usable name", hint=hint)
    return text


def parse_subject(value: object) -> str:
    """Return whom a role is granted to: `user:NAME` or `group:NAME`; a bare name is a user's."""
    text = parse_text(value)
    found = text if text.startswith(SUBJECTS) else f"user:{text}"
    name = found.partition(":")[2]
    if not name or not all(each.isalnum() or each in "._@+-" for each in name):
        hint = "write it as `user:eve` or `group:research`"
        raise FieldError(f"{show(text)} is neither a user nor a group", hint=hint)
    return found


def parse_variable(value: object) -> str:
    """Return the name of an environment variable."""
    text = parse_text(value)
    if not _VARIABLE.fullmatch(text):
        hint = "use letters, digits and underscores, as `HF_TOKEN` or `EPOCHS=3`"
        raise FieldError(f"{show(text)} is not the name of a variable", hint=hint)
    return text


def slug(text: str) -> str:
    """Make the nearest usable name; empty when nothing of `text` can be used."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:MAX_NAME].strip("-")
