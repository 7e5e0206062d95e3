"""How many requests were sent, by what they were about: for metrics."""

from collections import Counter

Call = tuple[str, str, str]
"""(verb, resource, answer): `ok`, the HTTP status of a refusal, or `none`."""
OK, NONE = "ok", "none"


def resource_of(path: str) -> str:
    """The resource that a path is of, with its sub-resource, as `pods/binding`."""
    parts = path.strip("/").split("/")
    rest = parts[3:] if parts[0] == "apis" else parts[2:]
    if len(rest) > 2 and rest[0] == "namespaces":
        rest = rest[2:]
    return "/".join(part for part in (*rest[:1], *rest[2:3]) if part) or "other"


class RequestTally:
    """Counts the requests of one client; read from any thread."""

    def __init__(self) -> None:
        self._counts: Counter[Call] = Counter()

    def add(self, verb: str, path: str, answer: str) -> None:
        """A request was answered, or not."""
        self._counts[verb, resource_of(path), answer] += 1

    def counts(self) -> dict[Call, int]:
        """What was counted so far."""
        return dict(self._counts.copy())
