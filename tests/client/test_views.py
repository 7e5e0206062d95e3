"""The client knows every key that the server of the same version answers with."""

import inspect

import msgspec
import pytest

from ganglion.client import (
    bulk_views,
    daily_views,
    drain_views,
    node_views,
    policy_views,
    schedule_views,
    use_views,
    views,
)
from ganglion.model import problem
from ganglion.model.capacity import FlavorReport
from ganglion.model.plan import Verdict
from ganglion.server.wire import bulk, ended, fleet, schedules, server, services, use, workloads
from ganglion.server.wire import problem as schemas_problem
from ganglion.server.wire.base import Model

PAIRS = [
    (views.Submitted, workloads.Accepted),
    (views.WorkloadView, workloads.WorkloadView),
    (views.WorkloadPage, workloads.WorkloadPage),
    (views.WorkloadDetail, workloads.WorkloadDetail),
    (views.Suspension, workloads.Suspension),
    (views.Scaling, services.Scaling),
    (views.Opening, services.Opening),
    (views.GangView, workloads.GangView),
    (views.Saved, workloads.Saved),
    (views.Spent, workloads.Spent),
    (daily_views.HistoryItem, ended.HistoryItem),
    (daily_views.HistoryPage, ended.HistoryPage),
    (views.Explained, workloads.Explanation),
    (views.Why, workloads.Why),
    (views.OrderItem, workloads.OrderItem),
    (views.OrderPage, workloads.OrderPage),
    (views.QueueView, workloads.QueueView),
    (views.QueuePage, workloads.QueuePage),
    (node_views.DeviceView, fleet.DeviceView),
    (node_views.NodeView, fleet.NodeView),
    (node_views.NodePage, fleet.NodePage),
    (FlavorReport, fleet.FlavorView),
    (node_views.CapacityPage, fleet.CapacityPage),
    *(
        (getattr(use_views, name), getattr(use, name))
        for name in ("DeviceUse", "GangUse", "UsePage", "Occupant", "NodeDetail")
    ),
    (views.Health, server.Health),
    (views.Check, server.Check),
    (views.Version, server.VersionView),
    (problem.Problem, schemas_problem.Problem),
    (problem.Wrong, schemas_problem.Wrong),
    (Verdict, workloads.Verdict),
    (policy_views.PolicyChange, workloads.PolicyChange),
    (policy_views.PolicyOutcome, workloads.PolicyOutcome),
    (policy_views.PolicyVersion, workloads.PolicyVersion),
    (policy_views.PolicyHistory, workloads.PolicyHistory),
    (policy_views.PolicyView, workloads.PolicyView),
    (policy_views.BookingView, workloads.BookingView),
    (policy_views.BookingPage, workloads.BookingPage),
    (drain_views.LeaverView, fleet.LeaverView),
    (drain_views.DrainView, fleet.DrainView),
    (drain_views.DrainPage, fleet.DrainPage),
    (schedule_views.ScheduleView, schedules.ScheduleView),
    (schedule_views.SchedulePage, schedules.SchedulePage),
    (bulk_views.Refusal, bulk.Refusal),
    (bulk_views.BulkAnswer, bulk.BulkAnswer),
    (bulk_views.BatchItem, bulk.BatchItem),
    (bulk_views.BatchAnswer, bulk.BatchAnswer),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda cls: cls.__name__)
def test_client_and_server_agree_on_the_keys(
    ours: type[msgspec.Struct], theirs: type[Model]
) -> None:
    assert set(ours.__struct_fields__) == set(theirs.model_fields)


def test_every_view_is_compared() -> None:
    every = (
        views,
        bulk_views,
        daily_views,
        drain_views,
        node_views,
        policy_views,
        schedule_views,
        use_views,
    )
    modules = {each.__name__: each for each in every}
    members = (inspect.getmembers(each, inspect.isclass) for each in modules.values())
    local = {cls for each in members for _, cls in each if cls.__module__ in modules}
    compared = {ours for ours, _ in PAIRS}
    assert local - compared == {views.WorkloadBase, views.EventView}
