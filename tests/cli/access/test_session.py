"""`ganglion session`: ends those that are named by id, or all that a user has."""

from tests.cli.harness import FakeServer, Ganglion

LIST = "GET /api/v1/sessions"
SEEN = {
    "items": [{"id": "a1", "user": "eve"}, {"id": "b2", "user": "bob"}, {"id": "c3", "user": "eve"}]
}


def test_sessions_are_listed_with_their_users(server: FakeServer, ganglion: Ganglion) -> None:
    server.on(LIST, SEEN)
    done = ganglion("session", "list")
    assert done.code == 0
    head, *rows = done.out.splitlines()
    assert head.split()[:2] == ["SESSION", "USER"]
    assert [row.split()[:2] for row in rows] == [["a1", "eve"], ["b2", "bob"], ["c3", "eve"]]


def test_those_that_are_named_end(server: FakeServer, ganglion: Ganglion) -> None:
    server.on("DELETE /api/v1/sessions/a1", {})
    server.on("DELETE /api/v1/sessions/c3", {})
    assert ganglion("session", "end", "a1", "c3").out == "session a1 ended\nsession c3 ended\n"


def test_all_of_a_user_end(server: FakeServer, ganglion: Ganglion) -> None:
    server.on(LIST, SEEN)
    server.on("DELETE /api/v1/sessions/b2", {})
    assert ganglion("session", "end", "--user", "bob").out == "session b2 ended\n"
    assert ganglion("session", "end", "--user", "ada").out == "ada has no session\n"


def test_one_way_of_naming_them_is_asked_for(server: FakeServer, ganglion: Ganglion) -> None:
    for args in ((), ("a1", "--user", "eve")):
        done = ganglion("session", "end", *args)
        assert done.code == 2
        assert "which sessions?" in done.err
    assert server.requests == []
