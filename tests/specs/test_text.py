import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from ganglion.model.errors import FileError
from ganglion.specs.reading.text import MAX_BYTES, decode, read


def test_a_file_is_read_under_the_name_its_user_gave(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(b"a: 1")
    assert read(path) == (b"a: 1", str(path))


def test_a_dash_is_the_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"a: 1")))
    assert read("-") == (b"a: 1", "standard input")


def test_a_missing_file_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no file") as caught:
        read(tmp_path / "nope.yaml")
    assert str(Path.cwd()) in caught.value.hint


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a directory"):
        read(tmp_path)


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(FileError, match="cannot be read"):
        read("a\0b")


def test_a_file_in_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(FileError, match="cannot be read"):
        read(tmp_path / "a" / "b")


def test_no_more_than_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(b"x" * (3 * MAX_BYTES))
    raw, name = read(path)
    assert len(raw) == MAX_BYTES + 1
    with pytest.raises(FileError, match="larger than 1 MiB"):
        decode(raw, name)


def test_text_that_cannot_be_encoded_is_refused() -> None:
    with pytest.raises(FileError, match="not UTF-8"):
        decode("a: \udcff")
