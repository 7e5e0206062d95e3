"""How passwords are kept, checked and limited."""

from concurrent.futures import Future

import pytest
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from ganglion.model.errors import FieldError, RateLimited
from ganglion.seams.clock import SystemClock
from ganglion.seams.effects import Effects
from ganglion.server.access.tries import passwords
from ganglion.server.access.tries.passwords import Passwords, check_password, is_current

GOOD = "nine blue trains to Ulm"


class StandingClock(SystemClock):
    def monotonic(self) -> float:
        return 1.0


@pytest.fixture
def kept() -> Passwords:
    return Passwords(Effects(clock=StandingClock()))


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "MEMORY_KIB", 64)
    monkeypatch.setattr(passwords, "FORM", "$argon2id$v=19$m=64,t=2,p=1$")


def test_a_password_is_kept_as_argon2id_with_the_parameters_of_owasp(kept: Passwords) -> None:
    made, other = kept.hashed(GOOD), kept.hashed(GOOD)
    assert made.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert made != other
    assert GOOD not in made
    assert is_current(made)
    assert not is_current(made.replace("m=19456", "m=4096"))
    assert kept.is_right("eve", "", made, GOOD)
    assert not kept.is_right("eve", "", made, f"{GOOD}!")


def test_a_user_who_does_not_exist_costs_one_hash_as_well(
    kept: Passwords, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []
    real = Argon2id.verify_phc_encoded

    def counted(password: bytes, phc: str) -> None:
        checked.append(phc)
        real(password, phc)

    monkeypatch.setattr(
        passwords, "Argon2id", type("Counted", (), {"verify_phc_encoded": staticmethod(counted)})
    )
    assert not kept.is_right("nobody", "", "", GOOD)
    assert len(checked) == 1
    assert is_current(checked[0])


@pytest.mark.parametrize("damaged", ["$argon2id$v=19$m=1", "x", "$argon2i$v=19$m=64,t=1,p=1$a$b"])
def test_what_is_no_hash_fits_no_password(kept: Passwords, damaged: str) -> None:
    assert not kept.is_right("eve", "", damaged, GOOD)


def test_equal_characters_are_one_whichever_keyboard_makes_them(kept: Passwords) -> None:
    made = kept.hashed("zwölf blaue Züge")
    assert kept.is_right("eve", "", made, "zwo\u0308lf blaue Zu\u0308ge")
    assert not kept.is_right("eve", "", made, "zwo\ud800lf")


@pytest.mark.parametrize(
    ("password", "said"),
    [
        ("", "15 to 200 characters, and has 0"),
        ("x" * 14, "and has 14"),
        ("x y z " * 40, "and has 240"),
        ("nine blue\0trains to Ulm", "cannot be printed"),
        ("nine blue\u202etrains to Ulm", "cannot be printed"),
        ("aaaaaaaaaaaaaaaaaaaa", "too easy"),
        ("eve.eve.eve.eve.", "too easy"),
        ("Professor.Eve.Long", "too easy"),
        ("\U0001d52b" * 201, "and has 201"),
    ],
)
def test_a_password_that_is_refused_is_not_repeated(password: str, said: str) -> None:
    with pytest.raises(FieldError) as caught:
        check_password("professor.eve.long", password)
    assert said in caught.value.problem
    assert not password or password not in str(caught.value)
    check_password("professor.eve.long", GOOD)


@pytest.mark.usefixtures("cheap")
def test_right_passwords_are_not_counted(kept: Passwords) -> None:
    made = kept.hashed(GOOD)
    for _ in range(3 * passwords.WRONG_OF_PAIR.tries):
        assert kept.is_right("eve", "n", made, GOOD)
    for _ in range(passwords.WRONG_OF_PAIR.tries):
        assert not kept.is_right("eve", "n", made, "x")
    with pytest.raises(RateLimited) as caught:
        kept.is_right("eve", "n", made, GOOD)
    assert caught.value.wait_s == 60
    assert kept.is_right("eve", "other", made, GOOD)
    assert kept.is_right("bob", "n", made, GOOD)


@pytest.mark.usefixtures("cheap")
def test_a_network_that_tries_many_names_is_slowed_down(kept: Passwords) -> None:
    for number in range(passwords.WRONG_OF_NETWORK.tries):
        assert not kept.is_right(f"user{number}", "n", "", GOOD)
    with pytest.raises(RateLimited):
        kept.is_right("another", "n", "", GOOD)


def test_only_so_many_passwords_wait(kept: Passwords, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[Future[object]] = []

    class Still:
        def submit(self, _work: object) -> Future[object]:
            waiting.append(Future())
            return waiting[-1]

    monkeypatch.setattr(kept, "_pool", Still())
    begun = [kept._begun(lambda: True) for _ in range(passwords.MOST_WAITING)]
    with pytest.raises(RateLimited):
        kept._begun(lambda: True)
    waiting[0].set_result(True)
    begun.append(kept._begun(lambda: True))
    assert len(waiting) == passwords.MOST_WAITING + 1
