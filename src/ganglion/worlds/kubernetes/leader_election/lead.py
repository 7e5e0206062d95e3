"""Which of several schedulers decides: the one that holds a Lease.

The lead is kept in a thread with an event loop and connections of its own, so that neither a
long decision nor a burst of requests can keep it from confirming the Lease. That it still holds
follows from the clock alone, not by that thread: a program that was stopped for a minute is no
lead when it goes on, whatever its threads have noticed.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from ganglion.model.errors import GanglionError, InputError
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.leader_election.candidate import LeaseCandidate
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint


class Lead:
    """Wants the lead, holds it, and loses it, once: after a loss a process starts with another.

    Others take the Lease no sooner than `lease_s` after it was last confirmed. We count from when
    we began to confirm, and only `renew_s`: the difference is for clocks that run at different
    speeds and for requests under way. A caller checks `holds` before each batch of writes and
    gives none of them longer than `lease_s - renew_s`.

    Args:
        endpoint: the cluster.
        namespace: of the Lease.
        name: of the Lease.
        identity: who we are, for people; made unique here, since two of the same name would both
            think that the Lease is theirs.
        lease_s: how long others wait after the last confirmation, in seconds.
        renew_s: how long we hold after the last confirmation, in seconds.
        retry_s: time between confirmations, or attempts to get it, in seconds.
        on_lost: called in the lead's thread, once, when the lead is lost, or can never be got,
            for any other reason than `stop`; it should end the process or see that nothing more
            is written.
        effects: clock and chance.

    Attributes:
        identity: the unique name that the Lease carries.
        held: set when the lead is got.
        lost: set when it is lost, or was given up: it will not come back.
        trouble: the last failure to reach or use the Lease; None when the last attempt was good.
    """

    def __init__(
        self,
        endpoint: ApiEndpoint,
        namespace: str,
        name: str,
        identity: str,
        *,
        lease_s: float = 15.0,
        renew_s: float = 10.0,
        retry_s: float = 2.0,
        on_lost: Callable[[], None] | None = None,
        effects: Effects = SYSTEM,
    ) -> None:
        _check(lease_s, renew_s, retry_s)
        self._endpoint, self._namespace, self._name = endpoint, namespace, name
        self._lease_s, self._renew_s, self._retry_s = lease_s, renew_s, retry_s
        self._on_lost, self._effects = on_lost, effects
        self._until_s = 0.0
        self._stopping = threading.Event()
        self._release = True
        self._thread = threading.Thread(target=self._main, name="lead", daemon=True)
        self._candidate: LeaseCandidate | None = None
        self._wake: Callable[[], None] = _nothing
        """Ends the pause between two attempts; from any thread."""
        self.identity = f"{identity}_{effects.randomness.token_hex(4)}"
        self.held, self.lost = threading.Event(), threading.Event()
        self.trouble: GanglionError | None = None

    def start(self) -> None:
        """Begin to want it."""
        self._thread.start()

    def holds(self) -> bool:
        """Whether the lead is certainly ours; from any thread, at any time."""
        return self.left_s() > 0

    def left_s(self) -> float:
        """How long it is still ours for sure without another confirmation, in seconds."""
        # Read once: the lead's thread moves it.
        left_s = self._until_s - self._effects.clock.since_boot()
        return 0.0 if self._stopping.is_set() else max(0.0, left_s)

    @property
    def holder(self) -> str:
        """The candidate that held the Lease when we last looked; empty = none, or not known yet."""
        return self._candidate.holder if self._candidate else ""

    def stop(self, release: bool = True) -> None:
        """Hold no more; returns when the Lease is given back or cannot be.

        Args:
            release: give the Lease back, so that another has it at once. Only when nothing is
                being written any more.
        """
        self._release = release
        self._stopping.set()
        self._wake()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()

    def _main(self) -> None:
        try:
            asyncio.run(self._campaign())
        except GanglionError as error:
            self.trouble = error  # as a certificate that cannot be read
        finally:
            self._until_s = 0.0
            self.lost.set()
            if self._on_lost and not self._stopping.is_set():
                self._on_lost()

    async def _campaign(self) -> None:
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        self._wake = lambda: _from_outside(loop, woken.set)
        # An attempt that hangs has to leave time for another before the lead is lost.
        api = Api(self._endpoint, in_flight=1, timeout_s=self._renew_s / 2)
        self._candidate = LeaseCandidate(
            *(api, self._namespace, self._name, self.identity, self._lease_s),
            self._effects.clock,
        )
        try:
            await self._want(self._candidate, woken)
            if self.held.is_set():
                await self._keep(self._candidate, woken)
            if self._stopping.is_set() and self._release:
                await self._give_back(self._candidate)
        finally:
            await api.close()

    async def _want(self, candidate: LeaseCandidate, woken: asyncio.Event) -> None:
        while not await self._confirm(candidate):
            if not await self._pause(woken):
                return
        self.held.set()

    async def _keep(self, candidate: LeaseCandidate, woken: asyncio.Event) -> None:
        """Confirm until stopped, lost to another, or not confirmed for too long."""
        while await self._pause(woken) and self.holds():
            try:
                async with asyncio.timeout(self.left_s()):
                    confirmed = await self._confirm(candidate)
            except TimeoutError:
                return
            if not confirmed and not self.trouble:
                return

    async def _confirm(self, candidate: LeaseCandidate) -> bool:
        began_s = self._effects.clock.since_boot()
        try:
            confirmed = await candidate.confirm()
        except GanglionError as error:
            self.trouble = error
            return False
        self.trouble = None
        if confirmed:
            self._until_s = began_s + self._renew_s
        return confirmed

    async def _give_back(self, candidate: LeaseCandidate) -> None:
        try:
            await candidate.give_back()
        except GanglionError as error:
            self.trouble = error  # it runs out by itself

    async def _pause(self, woken: asyncio.Event) -> bool:
        """Wait for the next attempt, no longer than the lead is held; False = asked to stop."""
        pause_s = self._retry_s * self._effects.randomness.uniform(0.8, 1.2)
        with suppress(TimeoutError):
            await asyncio.wait_for(woken.wait(), min(pause_s, self.left_s() or pause_s))
        return not self._stopping.is_set()


def _nothing() -> None:
    """There is no loop to wake yet."""


def _from_outside(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop has ended by itself
        loop.call_soon_threadsafe(act)


def _check(lease_s: float, renew_s: float, retry_s: float) -> None:
    if not lease_s > renew_s > retry_s > 0:
        message = f"lease {lease_s:g} s, renewal {renew_s:g} s and retry {retry_s:g} s do not go"
        raise InputError(message, "the lease has to be longest and the retry shortest")
