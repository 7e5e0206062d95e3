"""Callers that send wrong tokens, or ask for too many dry runs, are slowed down; no other is."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.responses import PlainTextResponse
from starlette.testclient import WebSocketDenialResponse
from starlette.types import Receive, Scope, Send

from ganglion.client.errors import error_of
from ganglion.identity.tokens import assembled
from ganglion.model.errors import RateLimited
from ganglion.seams.effects import SYSTEM
from ganglion.server.access.denials import Denials
from ganglion.server.access.tries.token_limit import WRONG_TOKENS, TokenLimit
from ganglion.server.commands.submission import submit
from ganglion.server.requests.context import DRY_RUNS
from ganglion.server.rest.listening.connections import PEER
from tests.faults.clock import HandClock
from tests.server.access.office import API, Office, office
from tests.server.conftest import Rig

WRONG = {
    "wrong": "Bearer not-the-token",
    "unknown": f"Bearer {assembled([7] * 30)}",
    "malformed": "Bearer gng_short",
    "no bearer": "Basic c2VjcmV0",
}
DRY = {"name": "a", "run": "true", "queue": "vision", "resources": {"gpus": 1}}


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def staff(rig: Rig, clock: HandClock) -> Iterator[Office]:
    rig.service.start()
    with office(rig, effects=SYSTEM._replace(clock=clock)) as made:
        yield made
    rig.service.stop()


def statuses(client: TestClient, header: str, count: int = WRONG_TOKENS.tries) -> set[int]:
    """What a caller is answered to some requests with one header."""
    return {
        client.get(f"{API}/workloads", headers={"Authorization": header}).status_code
        for _ in range(count)
    }


def denials(staff: Office) -> list[dict[str, Any]]:
    return [each for each in staff.events(staff.owner) if each["type"] == "access_denied"]


@pytest.mark.parametrize("kind", WRONG)
def test_tokens_that_count_for_nothing_slow_their_address_down(
    staff: Office, clock: HandClock, kind: str
) -> None:
    client = staff.client("", "10.0.0.5")
    assert statuses(client, WRONG[kind]) == {401}
    refused = client.get(f"{API}/workloads", headers={"Authorization": WRONG[kind]})
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
    said = refused.json()
    assert (said["code"], said["hint"]) == ("state.rate_limited", "try again in 2 s")
    assert said["detail"] == "too many wrong tokens from 10.0.0.5"
    assert said["instance"].endswith(refused.headers["x-request-id"])
    clock.sleep(2)
    assert statuses(client, WRONG[kind], 1) == {401}
    assert statuses(client, WRONG[kind], 1) == {429}


def test_websockets_with_wrong_tokens_are_slowed_down_too(staff: Office) -> None:
    client = staff.client("", "10.0.0.5")
    header = {"Authorization": WRONG["unknown"], "Host": "localhost"}
    found = list[int]()
    for _ in range(WRONG_TOKENS.tries + 1):
        with (
            pytest.raises(WebSocketDenialResponse) as refused,
            client.websocket_connect(f"{API}/workloads/x/attach", headers=header),
        ):
            pass
        found.append(refused.value.status_code)
    assert found == [401] * WRONG_TOKENS.tries + [429]
    assert refused.value.json()["code"] == "state.rate_limited"


def test_an_expired_token_counts_as_a_wrong_one(staff: Office) -> None:
    token = staff.token("bob", "viewer", days=1)
    staff.rig.machine.time = staff.rig.service.now() + 2 * 86_400_000
    client = staff.client("", "10.0.0.5")
    assert statuses(client, f"Bearer {token}") == {401}
    assert statuses(client, f"Bearer {token}", 1) == {429}


def test_a_right_token_passes_from_an_address_that_is_slowed_down(staff: Office) -> None:
    token = staff.token("bob", "viewer")
    client = staff.client("", "10.0.0.5")
    for kind in WRONG.values():
        statuses(client, kind)
    assert statuses(client, WRONG["wrong"], 1) == {429}
    for right in (token, "secret"):
        answer = client.get(f"{API}/whoami", headers={"Authorization": f"Bearer {right}"})
        assert answer.status_code == 200


def test_other_addresses_and_requests_without_a_token_are_not_slowed_down(staff: Office) -> None:
    statuses(staff.client("", "2001:db8::1"), WRONG["wrong"])
    assert statuses(staff.client("", "2001:db8::2"), WRONG["wrong"], 1) == {429}, "one /64"
    assert statuses(staff.client("", "2001:db8:0:1::1"), WRONG["wrong"], 1) == {401}
    bare = staff.client("", "2001:db8::1")
    assert {bare.get(f"{API}/workloads").status_code for _ in range(40)} == {401}
    assert bare.get("/healthz", headers={"Authorization": "Bearer x"}).status_code == 200


def test_wrong_tokens_of_an_address_are_an_event_once_a_minute(staff: Office) -> None:
    assert statuses(staff.client("", "10.0.0.5"), WRONG["wrong"], 45) == {401, 429}
    assert statuses(staff.client("", "10.0.0.6"), WRONG["wrong"], 45) == {401, 429}
    assert {(each["user"], each["operation"]) for each in denials(staff)} == {("", "authenticate")}
    rules = [each["rule"] for each in denials(staff)]
    assert rules == [f"too many wrong tokens from 10.0.0.{last}" for last in (5, 6)]
    staff.rig.machine.time = staff.rig.service.now() + 60_000
    assert statuses(staff.client("", "10.0.0.6"), WRONG["wrong"], 1) == {429}
    assert [each["rule"] for each in denials(staff)] == [*rules, rules[1]]


def test_callers_on_the_unix_socket_are_not_slowed_down(rig: Rig) -> None:
    async def near(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope.setdefault("state", {})[PEER] = 0
        await limit(scope, receive, send)

    limit = TokenLimit(PlainTextResponse("no", 401), Denials(rig.service), HandClock())
    assert statuses(TestClient(near), WRONG["wrong"], 45) == {401}
    assert statuses(TestClient(limit), WRONG["wrong"], WRONG_TOKENS.tries) == {401}


def dry(client: TestClient) -> Any:
    return client.post(f"{API}/workloads?dry_run=true", json=DRY)


def many(client: TestClient) -> Any:
    return client.post(f"{API}/workloads:cancel", json={"filter": {}, "dry_run": True})


def test_dry_runs_of_a_user_are_bounded_and_those_of_another_are_not(
    staff: Office, clock: HandClock
) -> None:
    staff.grant("user:bob", "submitter", "research")
    bob, also_bob = (staff.client(staff.token("bob")) for _ in range(2))
    eve = staff.user("eve", "submitter", "research")
    half = DRY_RUNS // 2
    assert {dry(bob).status_code for _ in range(half)} == {200}
    assert {many(also_bob).status_code for _ in range(half)} == {200}
    for refused in (dry(bob), many(bob), dry(also_bob)):
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert refused.json()["code"] == "state.rate_limited"
        assert "bob asks for too many dry runs within a minute" in refused.json()["detail"]
    found = error_of(refused)
    assert isinstance(found, RateLimited)
    assert (found.wait_s, found.hint) == (1, "try again in 1 s")
    assert dry(eve).status_code == dry(staff.owner).status_code == 200
    assert staff.submit(bob, "train", "vision")
    clock.sleep(1)
    assert [dry(bob).status_code for _ in range(2)] == [200, 429]
    assert {(each["user"], each["operation"], each["rule"]) for each in denials(staff)} == {
        ("bob", "submit_workload", "too many dry runs within a minute"),
        ("bob", "cancel_many", "too many dry runs within a minute"),
    }


def test_a_dry_run_that_takes_long_counts_as_several(
    staff: Office, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decisions wait meanwhile: in the long run a user gets a tenth of their time."""
    took_s = [4.0]

    def slow(*given: Any) -> Any:
        clock.sleep(took_s[0])
        return quick(*given)

    quick = submit.try_out
    monkeypatch.setattr(submit, "try_out", slow)
    assert [dry(staff.owner).status_code for _ in range(2)] == [200, 200]
    refused = dry(staff.owner)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "16")
    assert "too many dry runs" in refused.json()["detail"]
    clock.sleep(16)
    took_s[0] = 0.0
    assert [dry(staff.owner).status_code for _ in range(2)] == [200, 429]


def test_dry_runs_that_wait_for_a_slow_one_of_the_same_user_are_refused(
    staff: Office, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = Barrier(2)

    def slow(*given: Any) -> Any:
        waiting.wait(10)  # the other one comes while this one holds the state
        clock.sleep(60)
        return quick(*given)

    def second() -> Any:
        waiting.wait(10)
        return dry(staff.owner)

    quick = submit.try_out
    monkeypatch.setattr(submit, "try_out", slow)
    with ThreadPoolExecutor() as pool:
        first, other = pool.submit(dry, staff.owner), pool.submit(second)
        assert (first.result(30).status_code, other.result(30).status_code) == (200, 429)


def test_dry_runs_of_the_owner_are_bounded_too(staff: Office) -> None:
    assert {dry(staff.owner).status_code for _ in range(DRY_RUNS)} == {200}
    assert dry(staff.owner).status_code == 429
