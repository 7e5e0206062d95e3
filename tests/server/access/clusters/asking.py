"""A scheduler of a cluster that a server asks: its state is a stage, its line that of a test."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from ganglion.model.events import DeliveryRecord
from ganglion.server.cluster.outbox.post import DeliveryLine
from ganglion.server.cluster.outbox.turns import TurnReports
from ganglion.server.cluster.questions.fetching import QuestionLine
from ganglion.worlds.kubernetes.controller import ClusterController
from ganglion.worlds.kubernetes.scheduler import Scheduler
from tests.server.access.office import Office
from tests.worlds.kubernetes.controller.stage import Stage

SCHEDULER = "s1"


class StagedScheduler:
    """What answers need of a scheduler."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.turns = stage, 1

    @contextmanager
    def read(self) -> Iterator[ClusterController]:
        yield self.stage.controller

    def leads(self) -> bool:
        return True

    @property
    def scheduler(self) -> Scheduler:
        return cast("Scheduler", self)


class East:
    """The cluster east, at a server that its scheduler delivers to.

    Args:
        staff: the server.
        stage: the cluster.
    """

    def __init__(self, staff: Office, stage: Stage) -> None:
        self.staff, self.stage = staff, stage
        staff.grant("user:east", "reporter", "east:")
        self.token = staff.token("east", "reporter", "east:")
        transport = staff.client(self.token)._transport
        self.deliveries = DeliveryLine("http://localhost", "east", lambda: self.token, transport)  # type: ignore[arg-type]  # of the test client
        self._reports, self._number = TurnReports("pod-a", ()), 0

    def line(self, cluster: str = "east") -> QuestionLine:
        transport = self.staff.client(self.token)._transport
        return QuestionLine("http://localhost", cluster, lambda: self.token, transport)  # type: ignore[arg-type]  # of the test client

    def turn(self) -> None:
        """Take a turn, and deliver it."""
        self.stage.turn()
        records = list[DeliveryRecord]()
        for part in self._reports.of(self.stage.controller, self.stage.now):
            self._number += 1
            records.append(DeliveryRecord(self._number, part.at, part.facts, part.decisions))
        assert self.deliveries.post(SCHEDULER, records) == self._number
