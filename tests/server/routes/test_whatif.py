"""What a caller gets of an answer about the past."""

from typing import cast

from ganglion.api.whatif.report import WhatIfGroup, WhatIfMover, WhatIfReport, WhatIfStart
from ganglion.server.access.caller import Caller
from ganglion.server.routes.whatif import narrowed


class SeesRed:
    """Sees the queue `red` alone."""

    def sees(self, queue: str) -> bool:
        return queue == "red"


def mover(queue: str) -> WhatIfMover:
    return WhatIfMover(f"{queue}-1", queue, queue, "eve", 5_000, 1_000, 1_000)


def test_of_queues_that_a_caller_may_not_see_there_is_no_name_and_one_sum() -> None:
    groups = [("all", "", 5), ("queue", "red", 2), ("queue", "blue", 3), ("size", "1 GPU", 5)]
    groups += [("others", "", 3)]
    report = WhatIfReport(
        0,
        1,
        ("submit x at 1h",),
        5,
        tuple(WhatIfGroup(by, name, jobs, 0) for by, name, jobs in groups),
        (mover("red"), mover("blue")),
        (mover("blue"),),
        (WhatIfStart("x", "blue", 0, message="blue-1 holds it"),),
        ("3 gangs never ran",),
        "EUR",
        others_shorter=4,
    )
    found = narrowed(report, cast("Caller", SeesRed()))
    assert [(each.by, each.name) for each in found.groups] == [("queue", "red"), ("others", "")]
    assert (found.jobs, found.losers, found.assumptions) == (5, (), ())
    assert (found.others_shorter, found.others_longer) == (4, 0)
    assert [each.name for each in found.winners] == ["red"]
    assert found.starts[0].message == ""
