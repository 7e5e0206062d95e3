"""The form of personal tokens: a prefix, 30 characters of chance, and a checksum of six.

The checksum lets scanners of source code recognise a token for sure, and a server refuse a
truncated one by name. Only `digest` of a token is kept: it is too long to be guessed.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from zlib import crc32

PREFIX = "gng_"
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
CHANCE, CHECK = 30, 6
"""Characters of chance, and of the checksum."""
_FORM = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{CHANCE + CHECK}}}", re.ASCII)


def assembled(chance: Sequence[int]) -> str:
    """Make a token.

    Args:
        chance: 30 numbers below 62.
    """
    body = PREFIX + "".join(ALPHABET[each] for each in chance)
    return body + _checksum(body)


def trouble_of(text: str) -> str:
    """What is wrong with the form of a token; empty = nothing."""
    if not _FORM.fullmatch(text):
        length = len(PREFIX) + CHANCE + CHECK
        if len(text) != length:
            return f"a personal token has {length} characters, this one has {len(text)}"
        return "a personal token consists of ASCII letters and digits"
    body, given = text[:-CHECK], text[-CHECK:]
    return "" if _checksum(body) == given else "the checksum of the personal token is wrong"


def digest(text: str) -> str:
    """What is kept of a token, in hexadecimal."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def token_id(text: str) -> str:
    """The public name of a token, from which nothing of it follows."""
    return sha256(b"ganglion token id\0" + text.encode("utf-8", "replace")).hexdigest()[:12]


def _checksum(body: str) -> str:
    number, found = crc32(body.encode()), ""
    for _ in range(CHECK):
        number, digit = divmod(number, len(ALPHABET))
        found = ALPHABET[digit] + found
    return found
