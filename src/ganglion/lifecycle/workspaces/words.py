"""Times and amounts as people write them."""

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
GIB_MIB = 1_024


def span(ms: int) -> str:
    """A length of time in its largest fitting unit, rounded down: `45 s`, `31 min`, `5 h`."""
    for unit, name in ((DAY, "days"), (HOUR, "h"), (MINUTE, "min")):
        if ms >= 2 * unit or (ms >= unit and name == "min"):
            return f"{ms // unit} {name}"
    return f"{max(ms, 0) // SECOND} s"


def mib(amount: int) -> str:
    """An amount of memory: `512 MiB`, `10.2 GiB`."""
    if amount < GIB_MIB:
        return f"{amount} MiB"
    return f"{amount // GIB_MIB}.{amount % GIB_MIB * 10 // GIB_MIB} GiB"


def counted(number: int, what: str) -> str:
    """A number of things: `1 kernel`, `2 kernels`."""
    return f"{number} {what}{'s' * (number != 1)}"


def listed(parts: list[str]) -> str:
    """Parts of a sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
