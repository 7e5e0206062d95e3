"""Authorities are read once, and again when their file is another."""

from pathlib import Path

import pytest

from ganglion.seams.effects import SYSTEM
from ganglion.transport.tls.authorities import Authorities
from tests.transport.tls.certificates import write_pair


def test_a_file_is_read_once_and_again_when_it_was_replaced(tmp_path: Path) -> None:
    for each in ("one", "two"):
        (tmp_path / each).mkdir()
    first, second = (write_pair(tmp_path / each, name=each) for each in ("one", "two"))
    trusted = Authorities(first.cert, SYSTEM.files)
    context = trusted.context()
    assert trusted.context() is context
    Path(second.cert).replace(first.cert)
    renewed = trusted.context()
    assert renewed is not context
    assert trusted.context() is renewed


def test_those_of_the_machine_are_read_once() -> None:
    trusted = Authorities("", SYSTEM.files)
    assert trusted.context() is trusted.context()


def test_a_file_that_is_away_is_asked_for_again(tmp_path: Path) -> None:
    pair = write_pair(tmp_path)
    away = tmp_path / "away"
    Path(pair.cert).rename(away)
    trusted = Authorities(pair.cert, SYSTEM.files)
    with pytest.raises(OSError, match="No such file"):
        trusted.context()
    away.rename(pair.cert)
    assert trusted.context().cert_store_stats()["x509"] == 1
