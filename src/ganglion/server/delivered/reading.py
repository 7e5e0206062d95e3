"""A log of a cluster, asked for part by part: no line twice, and none left out."""

import re
from collections import Counter
from datetime import UTC, datetime

from msgspec.structs import replace

from ganglion.api.asked.answers import LogLines
from ganglion.api.asked.questions import LogQuestion, mark_of

_TIME = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[.\d]*(Z|[+-]\d\d:\d\d) ")
MARGIN_S = 1
"""Lines of several streams of a container may be this much out of order."""


class LogReading:
    """What was read of a log, and what to ask for next.

    A kubelet finds lines by their second. So the next part is asked for from the second of the
    last line on, or a little before, without as many lines as are known since then.

    Args:
        question: the first one.

    Attributes:
        following: the question for what comes next.
        uid: of the pod; empty = nothing was read.
    """

    def __init__(self, question: LogQuestion) -> None:
        self.following = question
        self.uid = ""
        self._of_seconds: Counter[int] = Counter()
        self._second = 0

    def taken(self, part: LogLines) -> bytes:
        """The new lines of a part, without their times."""
        self.uid = self.uid or part.uid
        out = list[bytes]()
        *lines, rest = part.text.split(b"\n")
        for line in lines:
            out += (self._told(line), b"\n")
        if rest:  # of a container that ended in the middle of it
            out.append(self._told(rest))
        if lines:
            self._go_on(lines[-1])
        return b"".join(out)

    def _told(self, line: bytes) -> bytes:
        """A line without its time, by which it is counted."""
        found = _TIME.match(line)
        if found:
            at = datetime.fromisoformat((found[1] + found[2]).decode().replace("Z", "+00:00"))
            self._second = int(at.timestamp())
        self._of_seconds[self._second] += 1
        return line[found.end() :] if found else line

    def _go_on(self, last: bytes) -> None:
        since = self._second - MARGIN_S
        begin = f"{datetime.fromtimestamp(max(since, 0), UTC):%Y-%m-%dT%H:%M:%SZ}"
        if begin < self.following.since:  # no earlier line was asked for
            begin = self.following.since
        else:
            known = self._of_seconds.items()
            self._of_seconds = Counter({each: count for each, count in known if each >= since})
        self.following = replace(
            self.following,
            tail=None,
            since=begin,
            skip=self._of_seconds.total(),
            mark=mark_of(last),
            after=last.partition(b" ")[0].decode("ascii", "replace"),
        )
