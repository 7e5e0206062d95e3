"""Merkle trees as of RFC 6962: roots of growing lists, and proofs about them.

A leaf is SHA-256 of a zero byte and the record, a node SHA-256 of a one byte and its two children.
The tree of n records has its largest complete subtree on the left, of 2^k < n records.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

EMPTY = sha256(b"").digest()
"""Root of the tree without records."""
SIZE = 32
"""Bytes of a hash."""


def leaf(record: bytes) -> bytes:
    """The hash of a record."""
    return sha256(b"\0" + record).digest()


def node(left: bytes, right: bytes) -> bytes:
    """The hash of two subtrees."""
    return sha256(b"\1" + left + right).digest()


class Frontier:
    """The complete subtrees of a growing tree, from which it grows and its root follows.

    Args:
        size: records of the tree.
        hashes: of its complete subtrees, the largest first; one for each 1 bit of the size.

    Raises:
        ValueError: the number of hashes, or the length of one, is not that of such a tree.
    """

    def __init__(self, size: int = 0, hashes: Iterable[bytes] = ()) -> None:
        self.size, self._hashes = size, list(hashes)
        if size < 0 or len(self._hashes) != size.bit_count():
            raise ValueError(f"a tree of {size} records has not {len(self._hashes)} subtrees")
        if any(len(each) != SIZE for each in self._hashes):
            raise ValueError("a hash of a subtree is not 32 bytes long")

    @property
    def hashes(self) -> tuple[bytes, ...]:
        """Of its complete subtrees, the largest first."""
        return tuple(self._hashes)

    def add(self, record: bytes) -> None:
        """Append a record."""
        found, size = sha256(b"\0" + record).digest(), self.size
        hashes = self._hashes
        while size & 1:
            found = sha256(b"\1" + hashes.pop() + found).digest()
            size >>= 1
        hashes.append(found)
        self.size += 1

    def extend(self, records: Iterable[bytes]) -> None:
        """Append records, level by level: in half the time of one after the other."""
        rising = [sha256(b"\0" + each).digest() for each in records]
        size, left = self.size, list[bytes]()  # `left`: subtrees that stay, the smallest first
        self.size += len(rising)
        while rising:
            if size & 1:
                rising.insert(0, self._hashes.pop())
            if len(rising) & 1:
                left.append(rising.pop())
            pairs = zip(rising[::2], rising[1::2], strict=True)
            rising = [sha256(b"\1" + one + other).digest() for one, other in pairs]
            size >>= 1
        self._hashes += reversed(left)

    def root(self) -> bytes:
        """The hash of the whole tree."""
        if not self._hashes:
            return EMPTY
        found = self._hashes[-1]
        for each in self._hashes[-2::-1]:
            found = node(each, found)
        return found


def root(leaves: Sequence[bytes]) -> bytes:
    """The root over hashes of records."""
    if not leaves:
        return EMPTY
    if len(leaves) == 1:
        return leaves[0]
    at = _split(len(leaves))
    return node(root(leaves[:at]), root(leaves[at:]))


def inclusion(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """Prove that a record is in the tree: the siblings on its way to the root, lowest first.

    Args:
        leaves: hashes of all records of the tree.
        index: number of the record, from 0.
    """
    if len(leaves) == 1:
        return []
    at = _split(len(leaves))
    if index < at:
        return [*inclusion(leaves[:at], index), root(leaves[at:])]
    return [*inclusion(leaves[at:], index - at), root(leaves[:at])]


def included(found: bytes, index: int, size: int, proof: Sequence[bytes], top: bytes) -> bool:
    """Whether a proof shows that a record is in a tree.

    Args:
        found: hash of the record.
        index: its number, from 0.
        size: records of the tree.
        proof: as `inclusion` makes it.
        top: root of the tree.
    """
    if not 0 <= index < size:
        return False
    at, last = index, size - 1
    for each in proof:
        if not last:
            return False
        if at & 1 or at == last:
            found = node(each, found)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            found = node(found, each)
        at, last = at >> 1, last >> 1
    return not last and found == top


def consistency(leaves: Sequence[bytes], first: int) -> list[bytes]:
    """Prove that a tree begins with the records of an earlier one.

    Args:
        leaves: hashes of all records of the tree.
        first: records of the earlier tree, 1 to all of them.
    """
    return _consistency(leaves, first, whole=True)


def _consistency(leaves: Sequence[bytes], first: int, *, whole: bool) -> list[bytes]:
    """`whole`: the earlier tree is the left end of the whole one, whose root is known."""
    if first == len(leaves):
        return [] if whole else [root(leaves)]
    at = _split(len(leaves))
    if first <= at:
        return [*_consistency(leaves[:at], first, whole=whole), root(leaves[at:])]
    return [*_consistency(leaves[at:], first - at, whole=False), root(leaves[:at])]


def consistent(first: int, earlier: bytes, size: int, later: bytes, proof: Sequence[bytes]) -> bool:
    """Whether a proof shows that a tree begins with the records of an earlier one.

    Args:
        first: records of the earlier tree.
        earlier: its root.
        size: records of the later tree.
        later: its root.
        proof: as `consistency` makes it.
    """
    if not 0 < first <= size:
        return False
    if first == size:
        return not proof and earlier == later
    rest = list(proof) if first & (first - 1) else [earlier, *proof]
    if not rest:
        return False
    at, last = first - 1, size - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    old = new = rest[0]
    for each in rest[1:]:
        if not last:
            return False
        if at & 1 or at == last:
            old, new = node(each, old), node(each, new)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            new = node(new, each)
        at, last = at >> 1, last >> 1
    return not last and (old, new) == (earlier, later)


def _split(size: int) -> int:
    """The largest power of two below a size."""
    return 1 << (size - 1).bit_length() - 1
