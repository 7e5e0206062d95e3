"""Accounts that may use a file beside its owner: access control lists of Linux (acl(5)).

Once a file has one, the bits of its mode for the group are the most that any entry gives.
"""

import errno
import os
import struct

from ganglion.seams.files import Where

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
READ, WRITE, PASS = 4, 2, 1
ALL = READ | WRITE | PASS
_HEAD, _ENTRY = struct.Struct("<I"), struct.Struct("<HHI")
_VERSION, _NO_ID = 2, 0xFFFF_FFFF
_OWNER, _USER, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x10, 0x20
_NONE = frozenset({errno.ENODATA, errno.EOPNOTSUPP})


def has_list(path: Where) -> bool:
    """Whether a file has entries for single accounts.

    Raises:
        OSError: it is gone, or the machine does not say.
    """
    return bool(users_of(path))


def users_of(path: Where) -> dict[int, int]:
    """Uid -> rights, of the accounts that have an entry of their own.

    Raises:
        OSError: the file is gone, or the machine does not say.
    """
    try:
        found = os.getxattr(path, ACCESS, follow_symlinks=False)
    except OSError as error:
        if error.errno in _NONE:
            return {}
        raise
    entries = _ENTRY.iter_unpack(found[_HEAD.size :])
    return {uid: rights for tag, rights, uid in entries if tag == _USER}


def allow(path: Where, users: dict[int, int]) -> None:
    """Have the owner and these accounts use a file, and no other one.

    Args:
        path: the file.
        users: uid -> rights.

    Raises:
        OSError: it is gone or belongs to another account, or the file system has no such lists.
    """
    os.setxattr(path, ACCESS, _packed(users), follow_symlinks=False)


def allow_below(path: Where, users: dict[int, int]) -> None:
    """Have these accounts, and its owner, use what any account makes in a directory from now on.

    No umask counts for it any more.

    Raises:
        OSError: as of `allow`.
    """
    os.setxattr(path, DEFAULT, _packed(users), follow_symlinks=False)


def _packed(users: dict[int, int]) -> bytes:
    most = 0
    for rights in users.values():
        most |= rights
    entries = [
        (_OWNER, ALL, _NO_ID),
        *((_USER, rights, uid) for uid, rights in sorted(users.items())),
        (_GROUP, 0, _NO_ID),
        *([(_MASK, most, _NO_ID)] if users else []),
        (_OTHER, 0, _NO_ID),
    ]
    return _HEAD.pack(_VERSION) + b"".join(_ENTRY.pack(*each) for each in entries)
