"""ID tokens count once, in bounded memory."""

from ganglion.server.login.exchange.spent import SpentTokens, mark_of

ISSUER = {"iss": "https://ci.example.org"}


def test_a_token_is_new_once() -> None:
    spent = SpentTokens()
    assert spent.spend(b"a", 10)
    assert not spent.spend(b"a", 10)
    spent.give_back(b"a")
    assert spent.spend(b"a", 10)


def test_memory_is_bounded_and_filled_until_tokens_expire() -> None:
    spent = SpentTokens(most=2)
    assert spent.spend(b"late", 20)
    assert spent.has_room(0)
    assert spent.spend(b"soon", 10)
    assert not spent.has_room(10)
    assert not spent.spend(b"soon", 10)
    assert spent.has_room(10.5)
    assert not spent.spend(b"late", 20)
    assert spent.spend(b"soon", 30)
    assert not spent.has_room(11)


def test_what_was_given_back_takes_no_room() -> None:
    spent = SpentTokens(most=1)
    spent.spend(b"a", 10)
    spent.give_back(b"a")
    assert spent.has_room(0)
    spent.spend(b"a", 30)
    assert not spent.has_room(20)  # its former end is forgotten


def test_a_token_is_known_by_its_name_or_by_what_was_signed() -> None:
    named = ISSUER | {"jti": "t-1"}
    assert mark_of("a.b.c", named) == mark_of("d.e.f", named)
    assert mark_of("a.b.c", named) != mark_of("a.b.c", named | {"iss": "https://other.example"})
    assert mark_of("a.b.c", ISSUER) == mark_of("a.b.another", ISSUER)
    assert mark_of("a.b.c", ISSUER) != mark_of("a.d.c", ISSUER)
    assert mark_of("a.b.c", ISSUER) != mark_of("x.y.z", ISSUER | {"jti": "a.b"})
