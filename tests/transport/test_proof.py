"""What a server has to answer before a client sends it the token."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.transport.proof import is_nonce, matches, nonce, proof

TOKEN, AT = "a-token", "127.0.0.1:7077"
TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)


def test_who_knows_the_token_answers_right() -> None:
    challenge = nonce()
    assert matches(proof(TOKEN, challenge, AT), TOKEN, challenge, AT)
    assert matches(proof(TOKEN, challenge, "LOCALHOST:1"), TOKEN, challenge, "localhost:1")


@given(TEXTS, TEXTS, TEXTS)
def test_an_answer_is_for_one_token_one_challenge_and_one_address(
    token: str, challenge: str, authority: str
) -> None:
    other = (token, challenge, authority.lower())
    right = (TOKEN, "a-challenge", AT)
    assert matches(proof(*right), *other) == (other == right)


@pytest.mark.parametrize("given", ["", "x", "\udc80", "é" * 64])
def test_an_answer_that_is_none_proves_nothing(given: str) -> None:
    assert not matches(given, TOKEN, nonce(), AT)


def test_challenges_are_new_and_long() -> None:
    made = {nonce() for _ in range(100)}
    assert len(made) == 100
    assert all(map(is_nonce, made))
    assert not any(
        map(is_nonce, ["", "short", "x" * 129, "with space in the text", "a\nbcdefghijklmnop"])
    )
