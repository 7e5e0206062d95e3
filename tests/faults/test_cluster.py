"""A scheduler of a cluster whose API server fails from a seed: watches, controller and writes.

Hours of the cluster take seconds: the whole runs in a loop in which no time passes by waiting.
"""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from copy import deepcopy

import pytest
from msgspec.structs import replace

from ganglion.extensions import load
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.seams.effects import SYSTEM
from ganglion.worlds.kubernetes.cluster_view.orders import Answer, PodRef, Spare
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.controller import ClusterController, News
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.names import BY_SCHEDULER, VICTIM_OF
from ganglion.worlds.kubernetes.order_writer import Hands
from ganglion.worlds.kubernetes.reporting.events import Recorder
from ganglion.worlds.kubernetes.scheduler import PAUSE_S
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.watches import ALWAYS, Watching
from tests.controlplane import manifests
from tests.effort import examples
from tests.faults.api_server import PODS, RETRY_AFTER_S, FakeServer, Object
from tests.faults.loop import LoopClock, quickly
from tests.faults.plan import FaultPlan
from tests.faults.randomness import SeededRandomness

NODES, GPUS, GANGS = 3, 8, 24
COLLECTIONS = [each.path for each in ALWAYS if each.needed]
RATES = {"conflict": 0.1, "later": 0.1, "refused": 0.05, "lost": 0.15, "expired": 0.05, "cut": 0.1}
LOST = 0.3
"""How often a pod is lost after a gang has come."""
TURN_S, LIMIT_S = 0.05, 3_600.0


class Trial:
    """A cluster, and the scheduler of it.

    Args:
        seed: of the work, of the faults and of all pauses.
    """

    def __init__(self, seed: int) -> None:
        self.chance, randomness = random.Random(seed), SeededRandomness(seed)
        self.plan = FaultPlan(seed, 0.0, **RATES)
        self.server = FakeServer(self.plan, SeededRandomness(seed + 1), *COLLECTIONS)
        self.server.watched = self.check_gpus
        effects = SYSTEM._replace(clock=LoopClock(), randomness=randomness)
        self.clock = effects.clock
        endpoint = ApiEndpoint(name="fake", url="https://fake")
        self.api = Api(endpoint, exchange=self.server, effects=effects)
        policy = replace(Policy(), repair=True)
        self.controller = ClusterController([""], Settings(), policy, load(policy))
        self.controller.configure([Queue("default")], policy, self.clock.now_ms())
        self.news = list[News]()
        self.most_on_a_node = 0

    def check_gpus(self) -> None:
        """No node has more pods than GPUs."""
        used = Counter[str]()
        for pod in self.server.all(PODS):
            if pod["spec"].get("nodeName") and pod["status"]["phase"] not in OVER:
                used[pod["spec"]["nodeName"]] += gpus_of(pod)
        self.most_on_a_node = max(self.most_on_a_node, *used.values(), 0)

    async def run(self) -> None:
        """Submit, schedule and run all work; at the end nothing fails."""
        for number in range(NODES):
            self.server.put("/api/v1/nodes", manifests.node(f"node-{number}", gpus=GPUS))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in (self._schedule(group), self._kubelets())]
            await self._submit()
            give_up = self.clock.monotonic() + LIMIT_S
            while any(pod["status"]["phase"] not in OVER for pod in self.server.all(PODS)):
                assert self.clock.monotonic() < give_up, self._waiting()
                await self.clock.pause(1.0)
            self.controller.scene.state.validate()
            for each in (*tasks, *self._running):
                each.cancel()

    def _waiting(self) -> list[tuple[str, object, object]]:
        return [
            (pod["metadata"]["name"], pod["spec"].get("nodeName"), pod["status"])
            for pod in self.server.all(PODS)
            if pod["status"]["phase"] not in OVER
        ]

    async def _submit(self) -> None:
        """Gangs come, some of them urgent; now and then a pod is lost and made anew."""
        for number in range(GANGS):
            size, gpus = self.chance.choice([(1, 1), (2, 4), (3, 8), (4, 2), (2, 8), (6, 1)])
            priority = self.chance.choice([0, 0, 0, 1000])
            for pod in manifests.gang(f"gang-{number:02}", size, gpus=gpus, priority=priority):
                created = {"creationTimestamp": "2025-06-15T15:00:00Z"}
                body = deepcopy(pod) | {"status": {"phase": "Pending", "conditions": []}}
                body["metadata"] |= created
                self.server.put(PODS, body)
                await self.clock.pause(self.chance.choice([0.0, 0.01, 0.3]))
            await self.clock.pause(self.chance.choice([0.0, 1.0, 20.0]))
            living = [pod for pod in self.server.all(PODS) if pod["status"]["phase"] not in OVER]
            if living and self.chance.random() < LOST:
                self.server.lose(PODS, self.chance.choice(living))

    async def _kubelets(self) -> None:
        """Bound pods run; those of a gang end together, once all of them ran for a while."""
        began = dict[str, float]()
        while True:
            await self.clock.pause(0.5)
            now, gangs = self.clock.monotonic(), defaultdict[str, list[Object]](list)
            for pod in self.server.all(PODS):
                gangs[pod["metadata"]["labels"]["ganglion.dev/gang"]].append(pod)
                if pod["spec"].get("nodeName") and pod["status"]["phase"] == "Pending":
                    began[pod["metadata"]["uid"]] = now
                    self._enter(pod, "Running")
            for pods in gangs.values():
                size = int(pods[0]["metadata"]["annotations"]["ganglion.dev/gang-size"])
                running = [pod for pod in pods if pod["status"]["phase"] == "Running"]
                since = max((began[pod["metadata"]["uid"]] for pod in running), default=now)
                if len(running) == size and now - since > self.chance.uniform(20, 200):
                    for pod in running:
                        self._enter(pod, "Succeeded")

    def _enter(self, pod: Object, phase: str) -> None:
        pod["status"]["phase"] = phase
        self.server.put(PODS, pod)

    async def _schedule(self, group: asyncio.TaskGroup) -> None:
        """What `Scheduler` does, in one loop."""
        site = self.controller.sites[""]
        recorder = Recorder(self.api, "test")
        hands = Hands(self.api, lambda: True, self._answered, recorder, site.pods.get)
        watching = Watching(self.api, "", self.news.extend)
        reflectors = watching.reflectors(tuple(each for each in ALWAYS if each.needed))
        runs = (hands.run, *(each.run for each in reflectors))
        self._running = [group.create_task(run()) for run in runs]
        while not watching.is_synced():
            await self.clock.pause(TURN_S)
        turned = 0.0
        while True:
            await self.clock.pause(TURN_S)
            if not self.news and self.clock.monotonic() < turned + PAUSE_S:
                continue
            turned = self.clock.monotonic()
            news, self.news[:] = self.news[:], []
            self.controller.observe(news)
            hands.give(self.controller.turn((), self.clock.now_ms()))
            assert not self.controller.plan.defects

    def _answered(self, answer: Answer) -> None:
        self.news.append(answer)


OVER = ("Succeeded", "Failed")


def gpus_of(pod: Object) -> int:
    return int(pod["spec"]["containers"][0]["resources"]["requests"][manifests.GPU])


def trial(seed: int) -> Trial:
    async def story() -> Trial:
        made = Trial(seed)
        await made.run()
        return made

    return quickly(story())


@pytest.mark.parametrize("seed", range(examples(4)))
def test_every_pod_is_bound_once_whatever_the_api_server_answers(seed: int) -> None:
    made = trial(seed)
    server, struck = made.server, made.plan.struck
    assert all(struck[each] for each in RATES), struck
    bound = server.bound
    assert {pod["metadata"]["uid"] for pod in server.all(PODS)} <= set(bound)
    elsewhere = [each for each in server.asked if bound.get(each[1], each[2]) != each[2]]
    assert elsewhere == [], "a pod was to be bound to a second node"
    assert made.most_on_a_node == GPUS
    assert_waits(server.turned_away, server.asked)


def assert_waits(
    away: Sequence[tuple[float, str, str]], asked: list[tuple[float, str, str]]
) -> None:
    """A binding that was answered by Retry-After is not sent again before."""
    for at, uid, _ in away:
        later = [when for when, other, _ in asked if other == uid and when > at]
        assert not later or min(later) >= at + RETRY_AFTER_S


def test_the_mark_of_a_victim_is_taken_back_however_long_the_server_is_away() -> None:
    async def story() -> None:
        outage = FaultPlan(0, 0.0, refused=1.0)
        server = FakeServer(outage, SeededRandomness(1), PODS)
        effects = SYSTEM._replace(clock=LoopClock(), randomness=SeededRandomness(0))
        api = Api(ApiEndpoint(name="fake", url="https://fake"), exchange=server, effects=effects)
        victim = manifests.pod("victim", annotations={VICTIM_OF: "high"}, nodeName="node-0")
        condition = {"type": "DisruptionTarget", "status": "True", "reason": BY_SCHEDULER}
        server.put(PODS, victim | {"status": {"phase": "Running", "conditions": [condition]}})
        ref = PodRef("", "default", "victim", server.all(PODS)[0]["metadata"]["uid"])
        recorder = Recorder(api, "test")
        hands = Hands(api, lambda: True, lambda _: None, recorder, lambda _: None)
        task = asyncio.create_task(hands.run())
        await effects.clock.pause(1.0)
        hands.give([Spare("low", (ref,))])
        await effects.clock.pause(600.0)
        (pod,) = server.all(PODS)
        assert VICTIM_OF in pod["metadata"]["annotations"]
        outage.calm = True
        await effects.clock.pause(60.0)
        (pod,) = server.all(PODS)
        assert VICTIM_OF not in pod["metadata"]["annotations"]
        task.cancel()

    quickly(story())


def test_one_seed_gives_the_same_requests_again() -> None:
    assert trial(3).server.asked == trial(3).server.asked
