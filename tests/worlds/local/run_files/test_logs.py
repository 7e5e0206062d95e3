"""Reading logs: whole, the last lines, recent output, as it grows."""

import asyncio
import errno
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.clock import HandClock
from tests.faults.files import FaultyFiles
from tests.faults.plan import FaultPlan
from tests.worlds.local.jobs import Jobs

from ganglion.model.errors import EnvironmentFault, NotFound
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import logs, records
from ganglion.worlds.local.run_files.logs import attempts, ranks, start_of, stream
from ganglion.worlds.local.supervision.children import Children
from ganglion.worlds.local.supervision.processes import Process, last_line

GANG = "train-7/0"


def write(home: Path, text: str | bytes, rank: int = 0, attempt: int = 1) -> Path:
    path = home / "logs" / GANG / str(attempt) / f"rank-{rank}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


async def gather(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


def read(home: Path, attempt: int = 1, **how: Any) -> str:
    return asyncio.run(gather(stream(home, GANG, attempt, **how))).decode()


def test_one_rank_comes_as_it_is(tmp_path: Path) -> None:
    write(tmp_path, b"a\xff\x00b\r\nunfinished")
    pieces = asyncio.run(gather(stream(tmp_path, GANG, 1, rank=0)))
    assert pieces == b"a\xff\x00b\r\nunfinished"


def test_lines_of_several_ranks_carry_the_rank(tmp_path: Path) -> None:
    write(tmp_path, "a\nb\n", 0)
    write(tmp_path, "c", 10)
    write(tmp_path, "", 2)
    assert read(tmp_path) == "[0] a\n[0] b\n[10] c\n"
    assert ranks(tmp_path, GANG, 1) == (0, 2, 10)


@pytest.mark.parametrize("tail", [0, 1, 2, 3, 4, 99])
def test_the_last_lines(tmp_path: Path, tail: int) -> None:
    write(tmp_path, "one\ntwo\n\nfour")
    assert read(tmp_path, rank=0, tail=tail) == "\n".join(
        ["one", "two", "", "four"][4 - min(tail, 4) :]
    )


@given(st.text("ab\n", max_size=60), st.integers(0, 12), st.integers(1, 9))
def test_the_last_lines_are_right_wherever_blocks_end(text: str, tail: int, block: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "log"
        path.write_text(text)
        patch.setattr(logs, "CHUNK", block)
        start = start_of(path, tail)
    lines = text.splitlines(keepends=True)
    assert text[start:] == "".join(lines[max(0, len(lines) - tail) :])


def test_since_starts_at_the_last_mark_before(tmp_path: Path) -> None:
    path = write(tmp_path, "0123456789")
    path.with_suffix(".marks").write_text("1000 2\n2000 5\n3000 8\ncut")
    os.utime(path, ns=(0, 4000 * 1_000_000))
    wanted = {1: 0, 999: 0, 1000: 2, 2500: 5, 3999: 8, 4001: 10}
    assert {since: start_of(path, since_ms=since) for since in wanted} == wanted
    assert start_of(path, tail=1, since_ms=2500) == 5


def test_since_without_marks_shows_all_or_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, "01234")
    os.utime(path, ns=(0, 4000 * 1_000_000))
    assert (start_of(path, since_ms=3999), start_of(path, since_ms=4001)) == (0, 5)


def test_previous_attempts_are_listed(tmp_path: Path) -> None:
    for attempt in (1, 2, 10):
        write(tmp_path, f"attempt {attempt}\n", attempt=attempt)
    assert attempts(tmp_path, GANG) == (1, 2, 10)
    assert attempts(tmp_path, "other-1/0") == ()
    assert read(tmp_path, 2, rank=0) == "attempt 2\n"


def test_a_log_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="attempt 1 of train-7/0 has no logs"):
        read(tmp_path)
    for rank in range(4):
        write(tmp_path, "", rank)
    with pytest.raises(NotFound, match="attempt 1 of train-7/0 has no log of rank 9") as caught:
        read(tmp_path, rank=9)
    assert caught.value.hint == "it has ranks 0 to 3"


def test_following_sees_what_comes_later_to_the_last_byte(tmp_path: Path) -> None:
    async def follow() -> bytes:
        over = False
        task = asyncio.create_task(gather(stream(tmp_path, GANG, 1, rank=0, ended=lambda: over)))
        await asyncio.sleep(0)
        path = write(tmp_path, "first\n")
        await asyncio.sleep(1.5 * logs.POLL_S)
        with path.open("a") as file:
            file.write("second\nlast words")
        over = True
        return await asyncio.wait_for(task, 10)

    assert asyncio.run(follow()) == b"first\nsecond\nlast words"


def test_following_all_ranks_cuts_no_line_and_meets_late_ranks(tmp_path: Path) -> None:
    async def follow() -> bytes:
        over = False
        task = asyncio.create_task(gather(stream(tmp_path, GANG, 1, ended=lambda: over)))
        path = write(tmp_path, "be")
        await asyncio.sleep(1.5 * logs.POLL_S)
        with path.open("a") as file:
            file.write("gun\n")
        write(tmp_path, "late", 1)
        over = True
        return await asyncio.wait_for(task, 10)

    assert asyncio.run(follow()) == b"[0] begun\n[1] late\n"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
@pytest.mark.parametrize("calls", [("open",), ("pread",), ("stat",)])
def test_a_log_that_cannot_be_read_is_named_once_and_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, calls: tuple[str, ...]
) -> None:
    for rank in range(3):
        write(tmp_path, f"a{rank}\nb{rank}", rank)
    broken, plan = tmp_path / "logs" / GANG / "1" / "rank-1.log", FaultPlan(1, 0.0)
    plan._rates.update(dict.fromkeys(calls, 1.0))
    monkeypatch.setattr(host, "files", FaultyFiles(plan, number, among=str(broken)))
    said = f"[1] ganglion: {broken} cannot be read: {os.strerror(number)}\n"
    assert read(tmp_path) == f"[0] a0\n[0] b0\n{said}[2] a2\n[2] b2\n"
    with pytest.raises(EnvironmentFault, match=f"{broken} cannot be read") as caught:
        read(tmp_path, rank=1)
    assert os.strerror(number) in caught.value.message
    assert read(tmp_path, rank=2) == "a2\nb2"
    looks = 0

    def ended() -> bool:
        nonlocal looks
        looks, plan.calm = looks + 1, looks >= 3
        return looks > 5

    followed = gather(stream(tmp_path, GANG, 1, ended=ended, clock=HandClock()))
    found = asyncio.run(followed).decode().splitlines(keepends=True)
    assert found.count(said) == 1, "once, although it was looked at again and again"
    assert [each for each in found if each.startswith("[1]")] == [said, "[1] a1\n", "[1] b1\n"]
    assert looks == 6


def test_no_byte_is_lost_or_doubled_while_reads_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = b"".join(b"line %d\n" % n for n in range(200))
    path, plan, clock = write(tmp_path, b""), FaultPlan(7, 0.4), HandClock()
    write(tmp_path, b"", 1)
    monkeypatch.setattr(host, "files", FaultyFiles(plan, errno.EIO, among=path.name))
    monkeypatch.setattr(logs, "CHUNK", 64)
    at = 0

    def ended() -> bool:
        nonlocal at
        with path.open("ab") as file:
            file.write(whole[at : at + 100])
        at, plan.calm = at + 100, at >= len(whole)
        return at > len(whole) + 100

    found = asyncio.run(gather(stream(tmp_path, GANG, 1, ended=ended, clock=clock))).splitlines()
    kept = [line for line in found if b"ganglion: " not in line]
    assert b"\n".join(kept) + b"\n" == whole.replace(b"line", b"[0] line")
    assert plan.struck["pread"]
    assert plan.struck["open"]
    assert clock.steady_s > 1_000 + logs.POLL_S


def test_a_line_without_end_does_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "LONGEST_LINE", 10)
    write(tmp_path, "x" * 25)
    assert read(tmp_path) == "[0] " + "x" * 25 + "\n"


def test_a_real_job_is_followed_to_its_end(jobs: Jobs) -> None:
    gang = jobs.run("for i in 1 2 3; do echo line $i; sleep 0.2; done")

    async def follow() -> bytes:
        ended = lambda: bool(jobs.ends(gang))  # noqa: E731 - shorter than a function
        return await asyncio.wait_for(gather(stream(jobs.home, gang, 1, ended=ended)), 30)

    assert asyncio.run(follow()) == b"[0] line 1\n[0] line 2\n[0] line 3\n"


def test_the_supervisor_marks_how_long_the_log_was(tmp_path: Path) -> None:
    log = tmp_path / "rank-0.log"
    process = Process(0, ["/bin/echo", "said"], {}, str(tmp_path), log, Children())
    os.waitpid(process.pid, 0)
    process.mark()
    process.mark()
    (line,) = log.with_suffix(".marks").read_text().splitlines()
    when, size = line.split()
    assert (int(when) <= records.now_ms(), int(size)) == (True, 5)


def test_a_log_that_is_shorter_than_20_seconds_has_no_marks(jobs: Jobs) -> None:
    gang = jobs.run("echo said")
    jobs.end(gang)
    assert not (jobs.directory(gang) / "rank-0.marks").exists()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("a\n\n  \n", "a"),
        ("a\nb", "b"),
        ("\x1b[31mred\x1b[0m\n", "[31mred[0m"),
        ("x" * 500, "x" * 160),
        ("\n" + "y" * 9000 + "\nend\n", "end"),
    ],
)
def test_the_last_line_of_a_log(tmp_path: Path, text: str, line: str) -> None:
    assert last_line(write(tmp_path, text)) == line
    assert last_line(tmp_path / "absent") == ""
