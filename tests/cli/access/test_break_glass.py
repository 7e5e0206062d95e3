"""`ganglion break-glass` and what `role` and `whocan` say of dormant grants."""

from tests.cli.harness import NOW_S, FakeServer, Ganglion, refusal

WHY = "node fire in hall 2"
UNTIL = (NOW_S + 3_600) * 1000
GLASS = {"user": "eve", "since": NOW_S * 1000, "until": UNTIL, "reason": WHY}
GRANT = {"subject": "user:eve", "role": "admin", "queue": "", "by": "ada", "break_glass": True}
HELD = {"subject": "group:oncall", "role": "operator", "queue": "lab", "break_glass": True}
BREAK, MEND = "POST /api/v1/roles:break-glass", "POST /api/v1/roles:mend-glass"

BROKEN = """\
user:eve has role admin on the whole fleet until 2027-01-15 09:00:00
This is recorded with your reason. To end it before: ganglion break-glass --end
"""
LISTED = """\
SUBJECT       ROLE      QUEUE            UNTIL  GLASS                                    BY
user:eve      admin     the whole fleet         broken by eve until 2027-01-15 09:00:00  ada
group:oncall  operator  lab                     dormant
"""


def test_it_says_what_counts_and_until_when(server: FakeServer, ganglion: Ganglion) -> None:
    server.on(BREAK, {"items": [{**GRANT, "broken": [GLASS]}]})
    done = ganglion("break-glass", "--reason", WHY, "--for", "90m", "-q", "")
    assert (done.code, done.out) == (0, BROKEN)
    assert server.bodies(BREAK) == [{"reason": WHY, "queue": "", "lasting": 5_400_000}]


def test_it_ends_ones_own_or_that_of_another(server: FakeServer, ganglion: Ganglion) -> None:
    server.on(MEND, {})
    assert ganglion("break-glass", "--end").out == "you: what broken glass gave has ended\n"
    done = ganglion("break-glass", "--end", "--user", "eve", "-q", "lab")
    assert done.out == "eve: what broken glass gave has ended\n"
    assert server.bodies(MEND) == [{"user": "", "queue": None}, {"user": "eve", "queue": "lab"}]


def test_a_reason_is_asked_for_and_another_user_only_mended(
    server: FakeServer, ganglion: Ganglion
) -> None:
    done = ganglion("break-glass")
    assert (done.code, "--reason is missing" in done.err) == (2, True)
    done = ganglion("break-glass", "--reason", WHY, "--user", "eve")
    assert (done.code, "--user goes with --end" in done.err) == (2, True)
    assert server.requests == []


def test_a_refusal_is_said(server: FakeServer, ganglion: Ganglion) -> None:
    server.on(BREAK, refusal(403, "access", "bob may not: breaking glass needs a dormant grant"))
    done = ganglion("break-glass", "--reason", WHY)
    assert (done.code, "needs a dormant grant" in done.err) == (1, True)


def test_a_dormant_grant_is_made_and_lists_mark_it(server: FakeServer, ganglion: Ganglion) -> None:
    server.on("POST /api/v1/roles:grant", GRANT)
    done = ganglion("role", "grant", "eve", "admin", "--break-glass")
    assert done.out == "user:eve may break the glass for role admin on the whole fleet\n"
    assert server.bodies("POST /api/v1/roles:grant")[0]["break_glass"] is True
    server.on("GET /api/v1/roles", {"items": [{**GRANT, "broken": [GLASS]}, HELD]})
    assert ganglion("role", "list").out == LISTED
    holders = [
        {"subject": "user:eve", "role": "admin", "dormant": True},
        {"subject": "user:eve", "role": "admin", "until": UNTIL, "broken_by": "eve"},
    ]
    asked = {"verb": "halt", "resource": "server", "items": holders}
    server.on("GET /api/v1/whocan", asked)
    said = ganglion("whocan", "halt", "server").out.splitlines()
    assert said[1].rstrip().endswith("  dormant")
    assert said[2].rstrip().endswith("2027-01-15 09:00:00  broken by eve")
