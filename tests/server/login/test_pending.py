"""Sign-ins that have begun."""

from ganglion.seams.randomness import SYSTEM_RANDOMNESS
from ganglion.server.login.pending import MOST, PendingSignIns


def test_sign_ins_that_are_never_ended_are_bounded() -> None:
    attempts = PendingSignIns(SYSTEM_RANDOMNESS)
    first = attempts.begin("", "", 0)
    last = [attempts.begin("", "", 0) for _ in range(MOST)][-1]
    assert attempts.take(first.state, first.browser, 1) is None
    assert attempts.take(last.state, last.browser, 1) == last
    assert attempts.take(last.state, last.browser, 1) is None
