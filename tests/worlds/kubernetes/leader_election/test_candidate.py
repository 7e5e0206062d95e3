"""Who gets a Lease when answers are lost and rivals are quick."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import ApiUnavailable
from ganglion.worlds.kubernetes.leader_election.candidate import LeaseCandidate
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.http.double import PATIENCE_S

LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/ganglion"


class Lossy(Api):
    """Does what it is asked; `lose` the next answer of a write all the same."""

    lose = False

    async def call(self, method: str, path: str, *rest: Any, **more: Any) -> bytes:
        answer = await super().call(method, path, *rest, **more)
        if self.lose and method != "GET":
            self.lose = False
            raise ApiUnavailable(f"{method} {path}: the connection failed")
        return answer


def trying(cluster: Cluster, task: Callable[[Lossy], Awaitable[None]]) -> None:
    async def whole() -> None:
        api = Lossy(cluster.endpoint)
        await task(api)
        await api.close()

    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))


def candidate(api: Api, name: str) -> LeaseCandidate:
    return LeaseCandidate(api, "default", "ganglion", name, 60)


def holder(cluster: Cluster) -> str:
    return str(cluster.get(LEASE)["spec"].get("holderIdentity"))


@pytest.mark.parametrize("there", [False, True], ids=["to-create", "to-take"])
def test_a_lease_got_without_hearing_so_is_got_at_the_next_look(
    cluster: Cluster, there: bool
) -> None:
    if there:
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        cluster.create(body | {"metadata": {"name": "ganglion"}})

    async def task(api: Lossy) -> None:
        ours = candidate(api, "ours")
        api.lose = True
        with pytest.raises(ApiUnavailable):
            await ours.confirm()
        assert await ours.confirm()
        assert ours.holder == "ours"

    trying(cluster, task)
    assert holder(cluster) == "ours"


def test_a_confirmation_whose_answer_was_lost_does_not_lose_the_lease(cluster: Cluster) -> None:
    async def task(api: Lossy) -> None:
        ours = candidate(api, "ours")
        assert await ours.confirm()
        api.lose = True
        with pytest.raises(ApiUnavailable):
            await ours.confirm()
        assert await ours.confirm()

    trying(cluster, task)
    assert cluster.get(LEASE)["spec"].get("leaseTransitions", 0) == 0


def test_of_many_rivals_one_gets_it(cluster: Cluster) -> None:
    async def task(api: Lossy) -> None:
        rivals = [candidate(api, f"rival-{index}") for index in range(12)]
        got = await asyncio.gather(*(each.confirm() for each in rivals))
        assert sum(got) == 1
        winner = rivals[got.index(True)]
        await winner.give_back()
        assert holder(cluster) == ""
        again = await asyncio.gather(*(each.confirm() for each in rivals))
        assert sum(again) == 1

    trying(cluster, task)


def test_what_is_another_s_is_not_given_back(cluster: Cluster) -> None:
    async def task(api: Lossy) -> None:
        ours, other = candidate(api, "ours"), candidate(api, "other")
        assert await ours.confirm()
        assert not await other.confirm()
        await other.give_back()

    trying(cluster, task)
    assert holder(cluster) == "ours"


def test_a_lease_taken_away_is_not_confirmed_over_the_other(cluster: Cluster) -> None:
    async def task(api: Lossy) -> None:
        ours = candidate(api, "ours")
        assert await ours.confirm()
        spec = {"holderIdentity": "other", "leaseDurationSeconds": 60}
        await asyncio.to_thread(cluster.patch, LEASE, {"spec": spec})
        assert not await ours.confirm()
        assert ours.holder == "other"

    trying(cluster, task)
    assert holder(cluster) == "other"
