"""Names of people: events hold salted digests of them, which the chain covers.

A table beside the events has the name of each digest, its pseudonym. Without its row, and so
without the salt, nothing tells the name, and the chain is as it was. One name has one pseudonym in
a ledger.

Names are: users and those who acted, wherever an event has such a field, their accounts at an
identity provider, and the same names as words of sentences.
"""

import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable
from hashlib import sha256

import msgspec
from msgspec import Struct

from ganglion.seams.randomness import SYSTEM_RANDOMNESS, Randomness

MARK = b"p~"
"""How a digest in an event begins."""
TOKEN = re.compile(rb"p~[A-Za-z0-9_-]{43}")
SALT_BYTES = 32

_TEXT = rb'"((?:[^"\\]|\\.)+)"'
_NAMES = re.compile(rb'("(?:actor|user|by|account)":|"subject":(?="user:))' + _TEXT)
_ACCOUNT = re.compile(rb'("subject":)(?!"(?:user|group):)' + _TEXT)
_LISTS = re.compile(rb'("users":)\[((?:"(?:[^"\\]|\\.)*",?)+)\]')
_PROSE = re.compile(rb'("(?:message|rule|grant|glass|reason|label|text)":)' + _TEXT)
_ITEM = re.compile(_TEXT)
_WORD = re.compile(rb"[^\s,;:'\"()\[\]\\]+")
_NAMED = re.compile(
    rb'"(?:actor|users?|by|account|subject|message|rule|grant|glass|reason|label|text)":'
)
"""What events that name no one lack: one look takes less than the patterns above do."""
_USER = b"user:"

Find = Callable[[bytes], bytes | None]
"""The pseudonym of a name, both as written in JSON; None = the name stays."""


class Pseudonym(Struct, frozen=True):
    """A row of the table.

    Attributes:
        token: the pseudonym.
        salt: with the name it gives the token; empty once the name was erased.
        name: in clear; empty likewise.
    """

    token: str
    salt: bytes
    name: str

    @property
    def fits(self) -> bool:
        """Whether name and salt give the token."""
        return token_of(self.salt, self.name) == self.token


def token_of(salt: bytes, name: str) -> str:
    """The pseudonym of a name."""
    found = urlsafe_b64encode(sha256(salt + name.encode()).digest()).rstrip(b"=")
    return (MARK + found).decode()


class Names:
    """The names of one ledger.

    Args:
        people: rows of its table; one that does not fit its token is as if it were not there.
        randomness: where salts come from.
    """

    def __init__(
        self, people: Iterable[Pseudonym] = (), randomness: Randomness = SYSTEM_RANDOMNESS
    ) -> None:
        self._randomness = randomness
        self._tokens = dict[bytes, bytes]()
        self._names = dict[bytes, bytes]()
        self._people = dict[bytes, Pseudonym]()
        for each in people:
            self.take(each)

    def take(self, person: Pseudonym) -> None:
        """Know a person; one who was erased, or does not fit, is not known."""
        if person.name and person.fits:
            token, name = person.token.encode(), escaped(person.name)
            self._tokens[name], self._names[token] = token, name
            self._people[token] = person

    def person(self, token: bytes) -> Pseudonym | None:
        """The person of a pseudonym; None = unknown, or erased."""
        return self._people.get(token)

    def token(self, name: str) -> str:
        """The pseudonym of a name; empty = it has none."""
        return self._tokens.get(escaped(name), b"").decode()

    def forget(self, token: str) -> None:
        """Know a person no more."""
        name = self._names.pop(token.encode(), None)
        self._people.pop(token.encode(), None)
        if name is not None:
            self._tokens.pop(name, None)

    def hidden(self, body: bytes) -> tuple[bytes, list[Pseudonym]]:
        """An event as it is written, with pseudonyms for names, and those that are new."""
        if not _NAMED.search(body):
            return body, []
        new = list[Pseudonym]()

        def found(name: bytes) -> bytes:
            token = self._tokens.get(name)
            if token is None:
                if TOKEN.fullmatch(name) and name not in self._names:
                    return name  # of a person who was erased
                made = self._made(name)
                new.append(made)
                token = made.token.encode()
            return token

        if MARK in body:  # what only looks like a token must be read back as it is
            body = TOKEN.sub(lambda each: found(each[0]), body)
            swapped = swap(body, lambda name: None if TOKEN.fullmatch(name) else found(name))
        else:
            swapped = swap(body, found)
        return swap_words(swapped, self._tokens.get), new

    def _made(self, name: bytes) -> Pseudonym:
        text: str = msgspec.json.decode(b'"%b"' % name)
        salt = self._randomness.token_bytes(SALT_BYTES)
        made = Pseudonym(token_of(salt, text), salt, text)
        self.take(made)
        return made

    def shown(self, body: bytes) -> bytes:
        """An event as it was, with the names that are known."""
        if MARK not in body:
            return body
        return TOKEN.sub(lambda each: self._names.get(each[0], each[0]), body)


def escaped(name: str) -> bytes:
    """A name as it is written in JSON, without the quotation marks."""
    return msgspec.json.encode(name)[1:-1]


def swap(body: bytes, find: Find) -> bytes:
    """Put pseudonyms in the place of names that fields of an event give."""

    def one(match: re.Match[bytes]) -> bytes:
        name, before = match[2], b""
        if match[1] == b'"subject":' and name.startswith(_USER):
            name, before = name.removeprefix(_USER), _USER
        return b'%b"%b%b"' % (match[1], before, find(name) or name)

    def several(match: re.Match[bytes]) -> bytes:
        items = _ITEM.sub(lambda each: b'"%b"' % (find(each[1]) or each[1]), match[2])
        return b"%b[%b]" % (match[1], items)

    body = _NAMES.sub(one, body)
    if b'"issuer":' in body:
        body = _ACCOUNT.sub(one, body)
    return _LISTS.sub(several, body) if b'"users":' in body else body


def swap_words(body: bytes, find: Find) -> bytes:
    """Put pseudonyms in the place of names that are words of sentences."""

    def word(match: re.Match[bytes]) -> bytes:
        text = match[0]
        bare = text.rstrip(b".")
        return find(text) or ((find(bare) or bare) + text[len(bare) :])

    return _PROSE.sub(lambda each: b'%b"%b"' % (each[1], _WORD.sub(word, each[2])), body)
