"""Numbers and times as people read them."""

UNITS = (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0))


def duration(seconds: float) -> str:
    """A time with the unit that suits it, as `4.2 h`."""
    for unit, size in UNITS:
        if seconds >= 1.5 * size:
            return f"{number(seconds / size)} {unit}"
    return f"{number(seconds)} s"


def number(value: float) -> str:
    """A number with thin thousands and no more digits than matter."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}".rstrip("0").rstrip(".")


def pct(value: float) -> str:
    """A percentage."""
    return f"{value:.1f} %"
