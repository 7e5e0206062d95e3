"""The ways to change a part of an object."""

from enum import StrEnum


class Patch(StrEnum):
    """How the body of a patch is meant; the value is its content type."""

    MERGE = "application/merge-patch+json"
    """Keys replace keys, null removes; lists are replaced as a whole."""

    JSON = "application/json-patch+json"
    """A list of operations (RFC 6902), with `test` where nothing may have changed."""

    STRATEGIC = "application/strategic-merge-patch+json"
    """As merge, but lists of built-in kinds are merged by their keys."""

    APPLY = "application/apply-patch+yaml"
    """Server-side apply: the fields given are ours. Needs `manager`."""
