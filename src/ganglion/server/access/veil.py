"""Takes out of answers the names of workloads and queues that the caller may not see."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from ganglion.server.access.caller import Caller
from ganglion.server.access.visible import Queues

WORKLOAD, QUEUE = "another workload", "another queue"
"""What stands in place of a name."""
_ID = re.compile(r"[A-Za-z0-9][\w.]*(?:-[\w.]+)*-[0-9]+(?![\w.-])")
"""What the id of a workload looks like; `/index` may follow."""
_KEYS = frozenset({"queue", "queues", "parent"})
"""Keys whose whole value is the name of a queue, or a list of them."""


class Veil:
    """What one caller does not get to read.

    Args:
        caller: who reads.
        queues: finds the queues of workloads by their ids.
    """

    def __init__(self, caller: Caller, queues: Queues) -> None:
        self._caller, self._queues = caller, queues
        hidden = sorted(caller.hidden_queues, key=len, reverse=True)
        words = "|".join(map(re.escape, hidden))
        self._names = re.compile(rf"(?<![\w.-])(?:{words})(?![\w.-])") if words else None
        self._hidden, self._said = caller.hidden_queues, ""

    def over(self, body: bytes, said: str = "") -> bytes:
        """A JSON body without them; a body that is no JSON is left as it is.

        Args:
            body: the JSON.
            said: names in it stay, as the caller has written them.
        """
        try:
            value = msgspec.json.decode(body)
        except msgspec.DecodeError:
            return body
        return msgspec.json.encode(self.without(value, said))

    def without(self, value: Any, said: str = "") -> Any:  # noqa: ANN401 - any JSON
        """A JSON value without them, but for names in what was said."""
        ids = {found for text in _texts(value) for found in _ID.findall(text)}
        queues = self._queues(ids) if ids else {}
        hidden = (each for each, queue in queues.items() if not self._caller.sees(queue))
        self._said = said
        return self._veiled(value, {each for each in hidden if each not in said}, "")

    def _veiled(self, value: Any, gone: set[str], key: str) -> Any:  # noqa: ANN401 - any JSON
        if isinstance(value, str):
            return self._text(value, gone, key)
        if isinstance(value, list):
            return [self._veiled(each, gone, key) for each in value]
        if isinstance(value, dict):
            return {
                self._text(name, gone, ""): self._veiled(each, gone, name)
                for name, each in value.items()
            }
        return value

    def _text(self, text: str, gone: set[str], key: str) -> str:
        if gone:
            text = _ID.sub(lambda found: WORKLOAD if found[0] in gone else found[0], text)
        if key in _KEYS and text.rpartition("/")[2] in self._hidden:
            return QUEUE
        # A single word may be a state or a kind that has the name of a queue.
        if self._names and " " in text:
            text = self._names.sub(lambda found: self._queue(found[0]), text)
        return text

    def _queue(self, name: str) -> str:
        return name if name in self._said else QUEUE


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from _texts(each)
