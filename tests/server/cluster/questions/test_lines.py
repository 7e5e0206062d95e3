"""A log that grows is read part by part: each line once, whatever a kubelet shows of it."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.api.asked.answers import LogLines
from ganglion.api.asked.questions import LogQuestion
from ganglion.server.cluster.questions.lines import NewLines, Rotated
from ganglion.server.delivered.reading import LogReading
from tests.server.cluster.questions.kubelet import PlayedKubelet, stamped


class Container:
    """Writes a log, which is read as a scheduler reads it for a server."""

    def __init__(self, question: LogQuestion, seed: int = 0) -> None:
        self.kubelet, self.reading = PlayedKubelet(), LogReading(question)
        self.kubelet.logs["pod"] = []
        self.dice, self.said, self.at = Random(seed), list[bytes](), 0
        self.got = b""
        self.over = False
        self.steps, self.lates = [0, 0, 1, 40, 700, 2500], [0, 0, 0, 300]

    def writes(self, lines: int) -> None:
        """Some lines, some within the same millisecond, some a little out of order."""
        for _ in range(lines):
            self.at += self.dice.choice(self.steps)
            late = self.dice.choice(self.lates) if self.at > 2000 else 0
            text = "x" * self.dice.randrange(30)
            self.kubelet.logs["pod"].append(stamped(self.at - late, text, len(self.said)))
            self.said.append(text.encode() + b"\n")

    def part(self) -> LogLines:
        question = self.reading.following
        try:
            return self._part(question)
        except Rotated:
            return self._part(replace(question, skip=0, mark=""))

    def _part(self, question: LogQuestion) -> LogLines:
        after = "" if question.mark else question.after
        lines = NewLines(question.limit, question.skip, question.mark, after)
        query: dict[str, str | int | bool] = {"limitBytes": 1 << 20}
        query |= {"sinceTime": question.since} if question.since else {}
        query |= {} if question.tail is None else {"tailLines": question.tail}
        text, size = self.kubelet.text("pod", query), self.dice.randrange(1, 90)
        for at in range(0, len(text), size):
            if lines.take(text[at : at + size]):
                break
        return LogLines(lines.text(over=self.over), "pod", "uid", "main", lines.more)

    def read(self) -> None:
        """All there is now."""
        while True:
            part = self.part()
            self.got += self.reading.taken(part)
            if not part.more:
                return


@settings(max_examples=25)
@given(st.integers(0, 10**9), st.lists(st.integers(0, 25), min_size=1, max_size=8))
def test_each_line_is_read_once_in_order_while_the_log_grows(seed: int, grows: list[int]) -> None:
    container = Container(LogQuestion("g", "lab", limit=160), seed)
    for lines in grows:
        container.writes(lines)
        container.read()
    assert container.got == b"".join(container.said)


def test_what_is_asked_for_begins_shortly_before_the_last_line() -> None:
    container = Container(LogQuestion("g", "lab", limit=1 << 20))
    container.writes(500)
    container.read()
    question = container.reading.following
    assert question.since
    assert question.skip < 40
    assert question.tail is None


def test_a_tail_is_followed_by_what_comes_after_it_alone() -> None:
    container = Container(LogQuestion("g", "lab", limit=1 << 20, tail=3))
    container.writes(50)
    container.read()
    assert container.got == b"".join(container.said[-3:])
    for _ in range(4):
        container.writes(5)
        container.read()
    assert container.got == b"".join(container.said[-23:])


def test_after_a_rotation_what_is_left_is_read_on_from_the_last_time() -> None:
    container = Container(LogQuestion("g", "lab", limit=1 << 20))
    container.steps, container.lates = [700], [0]
    container.writes(30)
    container.read()
    container.writes(10)
    container.kubelet.logs["pod"] = container.kubelet.logs["pod"][-11:]
    container.read()
    assert container.got == b"".join(container.said)
    container.kubelet.logs["pod"] = []
    container.writes(2)
    container.read()
    assert container.got == b"".join(container.said)


def test_a_line_that_is_being_written_waits_until_it_is_whole_or_its_writer_gone() -> None:
    container = Container(LogQuestion("g", "lab", limit=1 << 20))
    container.writes(2)
    whole = b"".join(container.said)
    container.kubelet.ends["pod"] = stamped(9000, "half")
    container.read()
    assert container.got == whole
    container.over = True
    container.read()
    assert container.got == whole + b"half"


def test_a_line_longer_than_an_answer_is_cut_and_those_behind_it_come() -> None:
    container = Container(LogQuestion("g", "lab", limit=200))
    for at, text in enumerate(("first", "y" * 1000, "last")):
        container.kubelet.logs["pod"].append(stamped(at * 5000, text))
    container.read()
    first, long, last, end = container.got.split(b"\n")
    assert (first, last, end) == (b"first", b"last", b"")
    assert 100 < len(long) < 200
    assert set(long) == {ord("y")}


def test_bytes_that_are_no_text_come_as_they_were_written() -> None:
    container = Container(LogQuestion("g", "lab", limit=1 << 20))
    raw = b"\x00\xff\x1b[31m\xc3("
    container.kubelet.logs["pod"] = [stamped(1, "") + raw]
    container.read()
    assert container.got == raw + b"\n"
