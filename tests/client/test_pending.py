"""A submit that is interrupted is neither lost nor done twice."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ganglion.client.home import Unreachable
from ganglion.client.pending import MAX_AGE_S, attempt
from ganglion.model.errors import EnvironmentFault, Forbidden, InputError

DOCUMENT = {"name": "train", "run": "python train.py"}
DIES = """
import os, sys
from pathlib import Path
from ganglion.client.pending import attempt
wanted = {"name": "train", "run": "python train.py"}
with attempt(Path(sys.argv[1]), wanted, {"name": "train-2"}) as it:
    print(it.key, flush=True)
    os.kill(os.getpid(), 9)
"""


def left_behind(home: Path) -> list[Path]:
    return sorted((home / "submits").iterdir())


def killed(home: Path) -> str:
    """Let another process die in the middle of a submit; its key."""
    done = subprocess.run(
        [sys.executable, "-c", DIES, str(home)], capture_output=True, text=True, check=False
    )
    assert done.returncode == -9
    return done.stdout.strip()


def test_after_an_answer_nothing_is_left(tmp_path: Path) -> None:
    with attempt(tmp_path, DOCUMENT, DOCUMENT) as this:
        assert left_behind(tmp_path) != []
    assert not this.resumed
    assert left_behind(tmp_path) == []


def test_two_submits_of_the_same_have_different_keys(tmp_path: Path) -> None:
    with attempt(tmp_path, DOCUMENT, DOCUMENT) as one, attempt(tmp_path, DOCUMENT, DOCUMENT) as two:
        assert one.key != two.key


def test_a_killed_submit_is_repeated_with_its_own_key_and_document(tmp_path: Path) -> None:
    key = killed(tmp_path)
    with attempt(tmp_path, DOCUMENT, {"name": "train-3"}) as this:
        assert (this.key, this.document, this.resumed) == (key, {"name": "train-2"}, True)
    with attempt(tmp_path, DOCUMENT, DOCUMENT) as after:
        assert not after.resumed


def test_another_document_does_not_take_the_key(tmp_path: Path) -> None:
    key = killed(tmp_path)
    with attempt(tmp_path, {**DOCUMENT, "run": "other"}, DOCUMENT) as this:
        assert this.key != key


def test_the_second_of_two_equal_documents_does_not_take_the_key_of_the_first(
    tmp_path: Path,
) -> None:
    key = killed(tmp_path)
    with attempt(tmp_path, DOCUMENT, DOCUMENT, nth=1) as this:
        assert this.key != key


@pytest.mark.parametrize(
    "error", [InputError("bad"), Unreachable("nobody there"), Forbidden("no role allows it")]
)
def test_a_refusal_leaves_nothing(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)), attempt(tmp_path, DOCUMENT, DOCUMENT):
        raise error
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), EnvironmentFault("lost the server")])
def test_not_knowing_leaves_the_key(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)), attempt(tmp_path, DOCUMENT, DOCUMENT):
        raise error
    assert len(left_behind(tmp_path)) == 1


def test_a_key_that_was_left_long_ago_is_forgotten(tmp_path: Path) -> None:
    key = killed(tmp_path)
    old = time.time() - MAX_AGE_S - 60
    os.utime(left_behind(tmp_path)[0], (old, old))
    with attempt(tmp_path, DOCUMENT, DOCUMENT) as this:
        assert this.key != key
    assert left_behind(tmp_path) == []


def test_a_half_written_key_was_never_sent_and_is_dropped(tmp_path: Path) -> None:
    key = killed(tmp_path)
    left_behind(tmp_path)[0].write_bytes(b'{"na')
    with attempt(tmp_path, DOCUMENT, DOCUMENT) as this:
        assert this.key != key
    assert left_behind(tmp_path) == []


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "submits").write_text("in the way")
    with (
        pytest.raises(EnvironmentFault, match="cannot write below"),
        attempt(tmp_path, DOCUMENT, DOCUMENT),
    ):
        pass
