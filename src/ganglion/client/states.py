"""How states look."""

STYLES: dict[str, str] = {
    "QUEUED": "yellow",
    "STARTING": "cyan",
    "RUNNING": "green",
    "STOPPING": "magenta",
    "SUSPENDED": "blue",
    "SUCCEEDED": "dim green",
    "FAILED": "bold red",
    "TIMED_OUT": "red",
    "CANCELLED": "dim",
}

WAITING = "QUEUED"


def style(state: str) -> str:
    """Return the Rich style of a state; plain for states that newer servers add."""
    return STYLES.get(state, "")
