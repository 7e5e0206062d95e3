"""Numbers in labels, which any user may have written, and quantities, which nodes repeat."""

import re
from functools import lru_cache

from ganglion.worlds.kubernetes.types.quantity import exactly


def number(text: str) -> int:
    """A whole number without sign; 0 for anything else."""
    return int(text) if re.fullmatch(r"[0-9]{1,12}", text) else 0


def gigabytes(text: str) -> int:
    """MiB in `192G` or `64GiB`, read as binary; 0 for anything else."""
    found = re.fullmatch(r"([0-9]{1,6})(M|G|T)i?B?", text)
    return int(found[1]) * {"M": 1, "G": 1 << 10, "T": 1 << 20}[found[2]] if found else 0


@lru_cache(maxsize=16_384)
def amount(quantity: str | int, scale: int = 1) -> int:
    """What there is, in whole units times `scale`, rounded down.

    Raises:
        InputError: it is no quantity.
    """
    return int(exactly(quantity) * scale // 1)
