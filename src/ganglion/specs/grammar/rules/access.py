"""Who may reach a service or workspace: `owner`, `anyone`, `{users: [bob], keys: false}`."""

import re

from ganglion.model.behaviour import Access
from ganglion.model.errors import FieldError

OWNER, ANYONE = "owner", "anyone"
KEYS = ("users", "groups", "keys")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?")


def parse_access(value: object) -> Access:
    """Read it.

    Raises:
        FieldError: it is something else.
    """
    if value in (OWNER, ANYONE):
        return Access(anyone=value == ANYONE)
    if not isinstance(value, dict):
        raise FieldError(
            f"cannot be {value!r}", hint="use owner, anyone, or {users: [bob], groups: [ml]}"
        )
    unknown = [key for key in value if key not in KEYS]
    if unknown:
        raise FieldError("unknown key", key=str(unknown[0]), hint="use users, groups and keys")
    keys = value.get("keys", True)
    if not isinstance(keys, bool):
        raise FieldError("should be true or false", key="keys")
    return Access(users=_names(value, "users"), groups=_names(value, "groups"), keys=keys)


def _names(value: dict[object, object], key: str) -> tuple[str, ...]:
    given = value.get(key, ())
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple):
        raise FieldError("should be a list of names", key=key)
    for each in names:
        if not isinstance(each, str) or not _NAME.fullmatch(each):
            raise FieldError(f"{each!r} is no name of a user or group", key=key)
    return tuple(dict.fromkeys(names))


def print_access(access: Access) -> str | dict[str, list[str] | bool]:
    """The canonical form."""
    if access.anyone:
        return ANYONE
    found: dict[str, list[str] | bool] = {}
    if access.users:
        found["users"] = [*access.users]
    if access.groups:
        found["groups"] = [*access.groups]
    if not access.keys:
        found["keys"] = False
    return found or OWNER
