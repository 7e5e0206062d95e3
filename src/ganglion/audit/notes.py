"""Checkpoints of a tree as signed notes, in the formats of C2SP (tlog-checkpoint, signed-note).

A checkpoint is three lines: the origin, the number of records, the root in base 64. A signature
line follows after an empty line. Signatures are Ed25519, so that equal trees give equal notes.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as NoBase64
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Struct

from ganglion.audit.merkle import SIZE

ED25519 = b"\1"
"""Number of the kind of signature in ids and texts of keys."""
KEY_BYTES, ID_BYTES, SIGNATURE_BYTES = 32, 4, 64
DASH = "\N{EM DASH} "
"""How a signature line begins."""
MOST_SIZE = (1 << 63) - 1

_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_NAME = re.compile(r"[^\s+\N{EM DASH}]{1,200}")


class SignedCheckpoint(Struct, frozen=True):
    """What a tree was at a moment.

    Attributes:
        origin: name of the log.
        size: records of the tree.
        root: its hash.
    """

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """The lines that are signed."""
        return f"{self.origin}\n{self.size}\n{b64encode(self.root).decode()}\n"


class PublicKey(Struct, frozen=True):
    """A key that signatures are checked with.

    Attributes:
        name: the origin of the log that signs with it.
        raw: 32 bytes.
    """

    name: str
    raw: bytes

    @property
    def id(self) -> bytes:
        """Four bytes that signature lines name it by."""
        head = self.name.encode() + b"\n" + ED25519
        return sha256(head + self.raw).digest()[:ID_BYTES]

    def __str__(self) -> str:
        """Print it as one word: name, id and key."""
        return f"{self.name}+{self.id.hex()}+{b64encode(ED25519 + self.raw).decode()}"


def key_of(text: str) -> PublicKey:
    """Read a key as it is printed.

    Raises:
        ValueError: it is none.
    """
    name, _, rest = text.strip().partition("+")
    written, _, packed = rest.partition("+")
    raw = _bytes(packed)
    if not _NAME.fullmatch(name) or len(raw) != 1 + KEY_BYTES or raw[:1] != ED25519:
        raise ValueError("that is no public key: it reads NAME+ID+KEY")
    found = PublicKey(name, raw[1:])
    if found.id.hex() != written:
        raise ValueError("the id of the public key is not that of its name and bytes")
    return found


class Signer:
    """Signs checkpoints.

    Args:
        name: origin of the log.
        secret: 32 bytes.
    """

    def __init__(self, name: str, secret: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(secret)
        self.public = PublicKey(name, self._key.public_key().public_bytes_raw())

    def signed(self, size: int, root: bytes) -> str:
        """A checkpoint as a signed note."""
        text = SignedCheckpoint(self.public.name, size, root).text()
        signature = b64encode(self.public.id + self._key.sign(text.encode())).decode()
        return f"{text}\n{DASH}{self.public.name} {signature}\n"


class SignedNote(Struct, frozen=True):
    """A signed note that was read; no signature was checked.

    Attributes:
        checkpoint: what was signed.
        signatures: (name, id of the key, signature) in order.
    """

    checkpoint: SignedCheckpoint
    signatures: tuple[tuple[str, bytes, bytes], ...]

    def check(self, key: PublicKey) -> None:
        """Raise ValueError: the note does not carry a signature of this key that fits."""
        if self.checkpoint.origin != key.name:
            raise ValueError(f"it is of log {self.checkpoint.origin}, the key of {key.name}")
        own = [each[2] for each in self.signatures if each[:2] == (key.name, key.id)]
        if not own:
            ids = ", ".join(each[1].hex() for each in self.signatures)
            raise ValueError(f"it is signed by another key: {ids} in place of {key.id.hex()}")
        public = Ed25519PublicKey.from_public_bytes(key.raw)
        try:
            public.verify(own[0], self.checkpoint.text().encode())
        except InvalidSignature:
            raise ValueError("its signature does not fit what was signed") from None


def note_of(text: str) -> SignedNote:
    """Read a signed note.

    Raises:
        ValueError: it is none, or not written as notes are.
    """
    body, found, end = text.partition(f"\n\n{DASH}")
    lines = body.split("\n")
    if not found or len(lines) != 3 or not end.endswith("\n"):
        raise ValueError("that is no signed checkpoint")
    origin, size, root = lines[0], lines[1], _bytes(lines[2])
    if not _NAME.fullmatch(origin) or not _NUMBER.fullmatch(size) or len(root) != SIZE:
        raise ValueError("that is no checkpoint: name, size or root is not written as one is")
    if int(size) > MOST_SIZE:
        raise ValueError("the size of the checkpoint is too large")
    signed = tuple(_signature(line) for line in (DASH + end)[:-1].split("\n"))
    return SignedNote(SignedCheckpoint(origin, int(size), root), signed)


def _signature(line: str) -> tuple[str, bytes, bytes]:
    name, _, packed = line.removeprefix(DASH).partition(" ")
    raw = _bytes(packed)
    if not line.startswith(DASH) or not _NAME.fullmatch(name) or len(raw) <= ID_BYTES:
        raise ValueError("a line is no signature")
    return name, raw[:ID_BYTES], raw[ID_BYTES:]


def _bytes(text: str) -> bytes:
    """Base 64, in its one way of being written. Raises ValueError."""
    try:
        found = b64decode(text, validate=True)
    except (NoBase64, ValueError):
        raise ValueError("that is no base 64") from None
    if b64encode(found).decode() != text:
        raise ValueError("that is no base 64 as it is written")
    return found
