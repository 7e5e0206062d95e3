"""Pairings of command lines: codes, secrets, and what is answered when."""

from ganglion.seams.randomness import SYSTEM_RANDOMNESS
from ganglion.server.login.pairings import (
    LASTING_MS,
    LETTERS,
    MOST,
    PENDING,
    REFUSED,
    TOO_LATE,
    UNKNOWN,
    Pairings,
    PairingState,
)

MINUTE = 60_000


def begun(known: Pairings, now_ms: int = 0) -> tuple[str, str]:
    """The code and the secret of a new pairing."""
    made, secret = known.begin("box", 90, "10.0.0.1", now_ms)
    return made.shown, secret


def test_a_code_is_eight_letters_that_are_hard_to_confuse() -> None:
    known = Pairings(SYSTEM_RANDOMNESS)
    codes = {begun(known)[0] for _ in range(200)}
    assert len(codes) == 200
    for code in codes:
        first, hyphen, second = code.partition("-")
        assert (len(first), hyphen, len(second)) == (4, "-", 4)
        assert set(first + second) <= set(LETTERS)
    assert not set(LETTERS) & set("AEIOUY01")


def test_a_code_is_found_however_it_is_typed() -> None:
    known = Pairings(SYSTEM_RANDOMNESS)
    code, _ = begun(known)
    for typed in (code, code.lower(), code.replace("-", ""), f" {code.replace('-', ' ')}\t"):
        assert known.find(typed, 0), typed
    wrong = ("Z" if code[0] != "Z" else "X") + code[1:]
    for typed in ("", "-", wrong, code[:-1], code + "B"):
        assert known.find(typed, 0) is None, typed


def test_a_secret_is_kept_as_a_digest_only() -> None:
    known = Pairings(SYSTEM_RANDOMNESS)
    made, secret = known.begin("box", 90, "10.0.0.1", 0)
    assert len(secret) == 43
    assert secret not in repr(made)
    assert secret not in repr(vars(known))


def test_a_hasty_command_has_to_wait_longer_each_time() -> None:
    known = Pairings(SYSTEM_RANDOMNESS)
    _, secret = begun(known)
    said = [known.answer(secret, at).error for at in (4_999, 9_999, 19_999, 34_998, 54_998)]
    assert said == [
        "slow_down",  # every 10 s from here
        "slow_down",  # every 15 s
        "slow_down",  # every 20 s
        "slow_down",  # every 25 s
        "slow_down",
    ]
    patient = begun(known)[1]
    assert [known.answer(patient, at) for at in (5_000, 10_000, 15_000)] == [PENDING] * 3
    assert known.answer(patient, 19_000).why == "ask every 10 s"
    assert known.answer(patient, 29_000) == PENDING


def test_a_pairing_ends_after_ten_minutes() -> None:
    known = Pairings(SYSTEM_RANDOMNESS)
    code, secret = begun(known)
    assert known.find(code, LASTING_MS - 1)
    assert known.answer(secret, LASTING_MS - 1) == PENDING
    assert known.find(code, LASTING_MS) is None
    assert known.answer(secret, LASTING_MS) == TOO_LATE


def test_a_token_is_handed_out_once_and_late_enough() -> None:
    known = Pairings(SYSTEM_RANDOMNESS)
    code, secret = begun(known)
    found = known.find(code, LASTING_MS - 1)
    assert found
    known.decide(found, LASTING_MS - 1)
    assert known.find(code, LASTING_MS - 1) is None  # it is decided already
    assert known.answer(secret, LASTING_MS + 1).error == "authorization_pending"
    found.token, found.state = "gng_x", PairingState.CONFIRMED
    assert known.answer(secret, LASTING_MS + MINUTE - 2).token == "gng_x"
    assert known.answer(secret, LASTING_MS + MINUTE - 2) == UNKNOWN


def test_a_token_that_is_not_fetched_is_not_kept() -> None:
    known = Pairings(SYSTEM_RANDOMNESS)
    code, secret = begun(known)
    found = known.find(code, 0)
    assert found
    known.decide(found, 0)
    found.token, found.state = "gng_x", PairingState.CONFIRMED
    assert known.answer(secret, LASTING_MS) == TOO_LATE
    begun(known, 2 * LASTING_MS)
    assert known.answer(secret, 2 * LASTING_MS) == UNKNOWN
    assert found not in vars(known)["_known"].values()


def test_a_refusal_is_said_again() -> None:
    known = Pairings(SYSTEM_RANDOMNESS)
    code, secret = begun(known)
    found = known.find(code, 0)
    assert found
    found.state = PairingState.REFUSED
    assert [known.answer(secret, at) for at in (1, 2, LASTING_MS)] == [REFUSED] * 3
    assert known.find(code, 0) is None


def test_pairings_are_bounded() -> None:
    known = Pairings(SYSTEM_RANDOMNESS)
    first, *_, last = [begun(known)[1] for _ in range(MOST + 1)]
    assert known.answer(first, 5_000) == UNKNOWN
    assert known.answer(last, 5_000) == PENDING
