"""Parts of something, in thousandths: `5%`, `0.5%`."""

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.scalars import parse_decimal, parse_text
from ganglion.specs.wording import show

_HINT = "write it as `5%` or `0.5%`"
MOST = 10_000


def parse_permille(value: object) -> int:
    """Read a percentage of 0..1000 % into thousandths."""
    text = parse_text(value, _HINT).strip()
    if text == "0" and not isinstance(value, bool):
        return 0
    if not text.endswith("%"):
        raise FieldError(f"{show(value)} is not a percentage", hint=_HINT)
    permille = parse_decimal(text[:-1].strip(), "a percentage", _HINT) * 10
    if permille.denominator != 1:
        raise FieldError(f"{show(value)} is finer than a tenth of a percent", hint=_HINT)
    if permille > MOST:
        raise FieldError(f"{show(value)} is more than 1000%", hint=_HINT)
    return int(permille)


def print_permille(permille: int) -> str:
    """Print as `5%` or `0.5%`."""
    whole, rest = divmod(permille, 10)
    return f"{whole}.{rest}%" if rest else f"{whole}%"
