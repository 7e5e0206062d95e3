import pytest

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.words import (
    PRIORITIES,
    one_of,
    parse_causes,
    parse_port,
    parse_priority,
    parse_signal,
)


@pytest.mark.parametrize("value", ["SIGUSR1", "usr1", "USR1"])
def test_signals_have_one_name(value: object) -> None:
    assert parse_signal(value) == "SIGUSR1"


def test_signals_may_be_numbers() -> None:
    assert parse_signal(15) == "SIGTERM"


@pytest.mark.parametrize(
    ("value", "problem", "hint"),
    [
        ("KILL", "no program can react", "SIGTERM"),
        ("SIGSTOP", "no program can react", "SIGTERM"),
        ("SIGTREM", "no signal", "`SIGTERM`?"),
        (None, "expected text", ""),
    ],
)
def test_signals_that_ask_nothing_are_refused(value: object, problem: str, hint: str) -> None:
    with pytest.raises(FieldError, match=problem) as caught:
        parse_signal(value)
    assert hint in caught.value.hint


def test_priorities_are_numbers_or_classes() -> None:
    assert parse_priority("70") == 70
    assert parse_priority("High") == "high"
    assert list(PRIORITIES.values()) == sorted(PRIORITIES.values())
    assert parse_priority("prod-2") == "prod-2"
    with pytest.raises(FieldError, match="not a usable name"):
        parse_priority("very high!")


def test_causes_are_kept_once_under_their_own_name() -> None:
    assert parse_causes(["error", "failure", "node-failure"]) == ("failure", "node_failure")


def test_a_hint_names_the_word_that_an_alias_stands_for() -> None:
    parse = one_of(("train", "service"), {"inference": "service"})
    assert parse("Inference") == "service"
    with pytest.raises(FieldError) as caught:
        parse("inferense")
    assert caught.value.hint == "did you mean `service`?"
    with pytest.raises(FieldError) as caught:
        parse("zzz")
    assert caught.value.hint == "use train or service"


@pytest.mark.parametrize("value", [0, 65_536, "http", [1, 2], []])
def test_a_port_is_one_number(value: object) -> None:
    assert parse_port("8000") == parse_port([8000]) == 8000
    with pytest.raises(FieldError):
        parse_port(value)
