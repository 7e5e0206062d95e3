"""The form of personal tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.identity.tokens import ALPHABET, assembled, digest, token_id, trouble_of

CHANCE = st.lists(st.integers(0, 61), min_size=30, max_size=30)


@given(CHANCE)
def test_a_token_is_well_formed_and_neither_id_nor_digest_holds_part_of_it(
    chance: list[int],
) -> None:
    token = assembled(chance)
    assert (token[:4], len(token), trouble_of(token)) == ("gng_", 40, "")
    assert token[4:12] not in digest(token) + token_id(token)
    assert not digest(token).startswith(token_id(token))


@given(CHANCE, st.integers(4, 39), st.integers(1, 61))
def test_one_wrong_character_is_found(chance: list[int], at: int, by: int) -> None:
    token = assembled(chance)
    other = ALPHABET[(ALPHABET.index(token[at]) + by) % 62]
    assert "checksum" in trouble_of(token[:at] + other + token[at + 1 :])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has 40 characters, this one has 0"),
        (assembled([1] * 30)[:-1], "this one has 39"),
        (assembled([1] * 30) + "0", "this one has 41"),
        (assembled([1] * 30)[:-1] + "\u0664", "ASCII letters and digits"),
        ("ghp_" + assembled([1] * 30)[4:], "ASCII letters and digits"),
    ],
)
def test_what_is_no_token_is_named(text: str, said: str) -> None:
    assert said in trouble_of(text)
