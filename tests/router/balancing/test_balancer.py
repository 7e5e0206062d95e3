"""A queue in front of replicas: no request is lost or overtakes, no replica has too much."""

from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ganglion.router.balancing.balancer import Balancer, Full, NoReplica, ReplicaState, Ticket
from ganglion.router.balancing.least_loaded import RequestPreferences
from ganglion.router.balancing.table import Limits, ReplicaEndpoint, RoutedService, RoutingState
from tests.effort import examples

QUEUE = 4
STATES = st.sampled_from(list(RoutingState))


def service(
    *endpoints: ReplicaEndpoint, cap: int = 0, queue: int = QUEUE, wakes: bool = True
) -> RoutedService:
    return RoutedService("chat", endpoints, Limits(per_replica=cap, queue=queue), wakes=wakes)


def endpoint(
    number: int, state: RoutingState = RoutingState.READY, port: int = 0
) -> ReplicaEndpoint:
    return ReplicaEndpoint(f"chat/{number}", f"127.0.0.1:{port or 8000 + number}", state)


class Office:
    """A desk, and the answer to every request."""

    def __init__(self, first: RoutedService) -> None:
        self.now, self.news = 0, 0
        self.granted: list[tuple[int, ReplicaState | None]] = []
        self.balancer = Balancer(first, 0, Random(1), self._noted)

    def _noted(self) -> None:
        self.news += 1

    def ask(self, number: int, *, again: bool = False, opens: bool = False) -> Ticket:
        wish = RequestPreferences(opens=opens)
        ticket = Ticket(wish, self.now, lambda replica: self.granted.append((number, replica)))
        self.balancer.ask(ticket, self.now, again=again)
        return ticket

    def told(self) -> list[tuple[int, str]]:
        return [(number, replica.name if replica else "") for number, replica in self.granted]


def test_a_request_gets_a_ready_replica_at_once() -> None:
    office = Office(service(endpoint(0)))
    office.ask(1)
    assert office.told() == [(1, "chat/0")]
    assert office.balancer.stats(0, 0).running == 1


def test_while_a_workspace_sleeps_only_those_wait_who_open_a_page() -> None:
    asleep = RoutedService("lab", sleeps=True)
    office = Office(asleep)
    with pytest.raises(NoReplica):
        office.ask(1)
    office.ask(2, opens=True)
    assert office.balancer.stats(0, 0).waiting == 1
    office.balancer.follow(RoutedService("lab", (endpoint(0),)), 5)
    office.ask(3)
    assert office.told() == [(2, "chat/0"), (3, "chat/0")]


def test_who_waits_as_it_falls_asleep_is_sent_away_unless_he_opens_a_page() -> None:
    office = Office(service(endpoint(0, RoutingState.STARTING)))
    office.ask(1)
    office.ask(2, opens=True)
    office.balancer.follow(
        RoutedService("lab", (endpoint(0, RoutingState.DRAINING),), sleeps=True), 5
    )
    assert office.told() == [(1, "")]
    with pytest.raises(NoReplica):
        office.ask(3)
    assert office.balancer.stats(5, 0).waiting == 1


def test_requests_wait_in_order_while_all_replicas_are_full() -> None:
    office = Office(service(endpoint(0), cap=1))
    for number in (1, 2, 3):
        office.ask(number)
    assert office.told() == [(1, "chat/0")]
    for _ in range(2):
        office.balancer.give_back(office.granted[-1][1] or pytest.fail("none"), 5)
    assert [number for number, _ in office.told()] == [1, 2, 3]


def test_requests_wait_for_a_service_without_replicas_and_somebody_is_told() -> None:
    office = Office(service())
    office.ask(1)
    office.ask(2)
    told = office.balancer.stats(10, 1_000)
    assert (office.news, told.waiting, told.waiting_since_ms) == (1, 2, 1_000)
    office.balancer.follow(service(endpoint(0, RoutingState.STARTING)), 20)
    assert office.told() == []
    office.balancer.revive(office.balancer.replicas["chat/0"], 30)
    assert office.told() == [(1, "chat/0"), (2, "chat/0")]
    assert office.balancer.stats(30, 0).waiting_ms == 60


def test_more_than_the_queue_takes_are_refused() -> None:
    office = Office(service())
    for number in range(QUEUE):
        office.ask(number)
    with pytest.raises(Full):
        office.ask(QUEUE)
    # A request that had a replica and lost it is not refused for others' sake.
    office.ask(99, again=True)
    office.balancer.follow(service(endpoint(0)), 1)
    assert [number for number, _ in office.told()] == [99, *range(QUEUE)]


def test_nobody_waits_for_a_service_that_will_not_come() -> None:
    office = Office(service(wakes=False))
    with pytest.raises(NoReplica):
        office.ask(1)


def test_those_who_wait_are_told_when_nobody_will_come_any_more() -> None:
    office = Office(service())
    office.ask(1)
    office.balancer.follow(service(wakes=False), 5)
    assert office.told() == [(1, "")]
    assert office.balancer.idle


def test_one_that_drains_finishes_what_it_has_and_says_so() -> None:
    office = Office(service(endpoint(0)))
    office.ask(1)
    office.balancer.follow(service(endpoint(0, RoutingState.DRAINING)), 1)
    office.ask(2)
    told = office.balancer.stats(2, 0)
    assert (told.running, told.waiting, told.replicas[0].ready) == (1, 1, False)
    before = office.news
    office.balancer.give_back(office.granted[0][1] or pytest.fail("none"), 3)
    assert office.news == before + 1
    assert office.balancer.stats(3, 0).replicas[0].running == 0


def test_one_that_left_the_table_is_told_of_until_it_is_empty() -> None:
    office = Office(service(endpoint(0)))
    office.ask(1)
    office.balancer.follow(service(), 1)
    assert [(r.replica, r.running) for r in office.balancer.stats(1, 0).replicas] == [("chat/0", 1)]
    office.balancer.give_back(office.granted[0][1] or pytest.fail("none"), 2)
    assert office.balancer.stats(2, 0).replicas == ()


def test_one_that_failed_gets_nothing_until_it_answers() -> None:
    office = Office(service(endpoint(0), endpoint(1)))
    broken = office.balancer.replicas["chat/0"]
    office.balancer.fail(broken, 10)
    for number in range(10):
        office.ask(number)
    assert {name for _, name in office.told()} == {"chat/1"}
    assert office.balancer.stats(25, 0).replicas[0].apart_ms == 15
    # The same table again changes nothing about that.
    office.balancer.follow(service(endpoint(0), endpoint(1)), 30)
    assert not broken.open
    office.balancer.revive(broken, 40)
    assert broken.open


def test_a_replica_that_moved_is_a_new_one() -> None:
    office = Office(service(endpoint(0)))
    old = office.balancer.replicas["chat/0"]
    office.balancer.follow(service(endpoint(0, RoutingState.STARTING, port=9_999)), 1)
    assert office.balancer.replicas["chat/0"] is not old
    assert old.gone
    assert not office.balancer.replicas["chat/0"].open


def test_answers_that_begin_late_are_counted_where_somebody_said_what_late_is() -> None:
    punctual = Office(RoutedService("chat", late_ms=500))
    for took in (499, 500, 501, 9_000):
        punctual.balancer.began(took, took)
    assert punctual.balancer.stats(0, 0).late == 2
    careless = Office(service())
    careless.balancer.began(9_000, 9_000)
    assert careless.balancer.stats(0, 0).late == 0


def test_retry_after_follows_how_fast_requests_end() -> None:
    office = Office(service(endpoint(0), cap=1, queue=50))
    for number in range(31):
        office.ask(number)
    office.balancer.counters.whole.add(0, 1_000)
    assert 30 <= office.balancer.retry_after_s(0) <= 32
    office.balancer.follow(service(), 1)
    assert office.balancer.retry_after_s(1) == 5


class Line(RuleBasedStateMachine):
    """Requests come, wait, leave and end while tables change and replicas die."""

    def __init__(self) -> None:
        super().__init__()
        self.office = Office(service(cap=2))
        self.waiting: dict[int, Ticket] = {}
        self.running: list[ReplicaState] = []
        self.number = self.seen = 0

    def _settle(self) -> None:
        """Take in what was granted: always the request that waited longest."""
        for number, replica in self.office.granted[self.seen :]:
            if number in self.waiting:
                assert number == next(iter(self.waiting))
                del self.waiting[number]
            assert replica is not None
            self.running.append(replica)
        self.seen = len(self.office.granted)

    @rule()
    def come(self) -> None:
        """A request comes."""
        self.office.now += 1
        self.number += 1
        try:
            ticket = self.office.ask(self.number)
        except Full:
            assert len(self.waiting) == QUEUE
            return
        if len(self.office.granted) == self.seen:
            self.waiting[self.number] = ticket
        else:
            assert not self.waiting, "it overtook those who wait"
        self._settle()

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        """A caller that waits goes away."""
        number = data.draw(st.sampled_from(list(self.waiting)))
        self.office.balancer.withdraw(self.waiting.pop(number), self.office.now)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), failed=st.booleans())
    def end(self, data: st.DataObject, failed: bool) -> None:
        """A request ends, well or with its replica."""
        self.office.now += 1
        place = data.draw(st.integers(0, len(self.running) - 1))
        replica = self.running.pop(place)
        if failed:
            self.office.balancer.fail(replica, self.office.now)
        self.office.balancer.give_back(replica, self.office.now)
        self._settle()

    @rule(states=st.dictionaries(st.integers(0, 4), STATES, max_size=4))
    def publish(self, states: dict[int, RoutingState]) -> None:
        """A new table."""
        table = service(*(endpoint(number, state) for number, state in states.items()), cap=2)
        self.office.balancer.follow(table, self.office.now)
        self._settle()

    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        """A replica answers a probe."""
        down = [each for each in self.office.balancer.replicas.values() if not each.up]
        if down:
            self.office.balancer.revive(data.draw(st.sampled_from(down)), self.office.now)
            self._settle()

    @invariant()
    def nobody_is_lost_or_overloaded(self) -> None:
        """What the desk counts is what was given out; no request waits beside room."""
        balancer, told = self.office.balancer, self.office.balancer.stats(self.office.now, 0)
        assert (told.waiting, told.running) == (len(self.waiting), len(self.running))
        assert sum(each.running for each in told.replicas) == len(self.running)
        assert all(each.running <= 2 for each in told.replicas)
        if self.waiting:
            assert all(each.running == 2 for each in balancer.replicas.values() if each.open)


TestLine = Line.TestCase
TestLine.settings = settings(
    max_examples=examples(30, nightly=1_200), stateful_step_count=40, deadline=None
)
