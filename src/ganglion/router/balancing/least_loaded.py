"""Choice of a replica for a request, as a function of the load of all replicas."""

from collections.abc import Sequence
from hashlib import blake2b
from random import Random
from typing import Protocol, TypeVar

from msgspec import Struct

SPREAD_PERCENT = 125
"""Load, in per cent of the mean, above which a replica that keys lead to is passed over."""
PULL = 4
"""Skip a replica with the right model when it has more than twice the requests of the least busy
replica plus this number."""


class Busy(Protocol):
    """A replica to choose from."""

    @property
    def name(self) -> str:
        """Unique."""

    @property
    def running(self) -> int:
        """Requests it has."""

    @property
    def models(self) -> tuple[str, ...]:
        """Models that it answers fastest."""


class RequestPreferences(Struct, frozen=True):
    """Preferences of a request.

    Attributes:
        key: requests with equal keys go to the same replica where that is wise; empty = none.
        model: the model it asks for; empty = not given.
        opens: whether a user opens a page with it; False = a page that is open sends it.
        tried: replicas that failed it before; they are used again only when there is no other.
    """

    key: str = ""
    model: str = ""
    opens: bool = False
    tried: tuple[str, ...] = ()


T = TypeVar("T", bound=Busy)


def choose(able: Sequence[T], wish: RequestPreferences, dice: Random) -> T:
    """The replica for a request.

    Args:
        able: those that can take one more; at least one.
        wish: what the request would like.
        dice: chance.
    """
    if wish.tried:
        able = [each for each in able if each.name not in wish.tried] or able
    if wish.model:
        able = with_model(able, wish.model)
    if len(able) == 1:
        return able[0]
    return by_key(able, wish.key) if wish.key else of_two(able, dice)


def of_two(able: Sequence[T], dice: Random) -> T:
    """Draw two replicas; return the less busy one.

    Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", IEEE TPDS 2001.

    Args:
        able: at least two.
        dice: chance.
    """
    first = int(dice.random() * len(able))
    second = int(dice.random() * (len(able) - 1))
    one, other = able[first], able[second + (second >= first)]
    return other if other.running < one.running else one


def by_key(able: Sequence[T], key: str) -> T:
    """The first replica in the key's own order that has not much more to do than the others.

    Thaler and Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM ToN 1998
    (the order); Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads",
    SODA 2018 (the bound). When a replica goes, only its own keys move.
    """
    total = sum(each.running for each in able) + 1
    # The bound in integers, rounded up: running + 1 <= ceil(1.25 * total / count).
    most = -(-SPREAD_PERCENT * total // (100 * len(able)))
    fit = [each for each in able if each.running < most]
    return max(fit, key=lambda each: _weight(key, each.name))


def _weight(key: str, name: str) -> bytes:
    return blake2b(f"{key}\0{name}".encode("utf-8", "surrogateescape"), digest_size=8).digest()


def with_model(able: Sequence[T], model: str) -> Sequence[T]:
    """Replicas that have the model, unless all of them are much busier than another replica."""
    fit = [each for each in able if model in each.models]
    if not fit:
        return able
    least = min(each.running for each in able)
    return fit if min(each.running for each in fit) <= 2 * least + PULL else able
