"""`--policy` of a simulation: a preset or a policy file, and words that change it."""

from msgspec import structs

from ganglion.model.errors import FieldError
from ganglion.model.kinds import Weighted
from ganglion.model.policy import Order, Policy
from ganglion.specs.policy.policy import PolicyFile, is_path, resolve_policy
from ganglion.specs.policy.presets import is_preset


def named_policy(words: str) -> PolicyFile | None:
    """The preset or policy file among the words; None = there is none.

    Raises:
        FileError: the file cannot be read.
        FieldError: there are several, or the file is wrong.
    """
    found = [word for word in _words(words) if _is_named(word)]
    if len(found) > 1:
        raise FieldError(f"more than one policy: {', '.join(found)}", key="--policy")
    return resolve_policy(found[0]) if found else None


def read_policy(words: str, base: Policy) -> Policy:
    """Change a policy by words: `fifo,strict,fgd` sets the order, strictness and scores.

    A preset or the path of a policy file takes the place of `base`. Names that are none of
    these are Score plugins; whether they exist is found out when they are loaded.

    Raises:
        FileError: the policy file cannot be read.
        FieldError: there are two orders or two policies, or the file is wrong.
    """
    named = named_policy(words)
    start = named.policy if named else base
    known = {order.value: order for order in Order}
    rest = [word for word in _words(words) if not _is_named(word)]
    orders = [known[word] for word in rest if word in known]
    scores = tuple(Weighted(word) for word in rest if word not in known and word != "strict")
    if len(orders) > 1:
        raise FieldError(f"more than one order: {', '.join(orders)}", key="--policy")
    return structs.replace(
        start,
        order=orders[0] if orders else start.order,
        strict=start.strict or "strict" in rest,
        scores=scores or start.scores,
    )


def _words(words: str) -> list[str]:
    return [word.strip() for word in words.split(",") if word.strip()]


def _is_named(word: str) -> bool:
    return is_preset(word) or is_path(word)
