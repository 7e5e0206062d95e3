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
from ganglion.server import (
    schemas,
    schemas_bulk,
    schemas_daily,
    schemas_fleet,
    schemas_problem,
    schemas_schedules,
    schemas_server,
    schemas_services,
    schemas_use,
)
from ganglion.server.schema_base import Model

PAIRS = [
    (views.Submitted, schemas.Accepted),
    (views.WorkloadView, schemas.WorkloadView),
    (views.WorkloadPage, schemas.WorkloadPage),
    (views.WorkloadDetail, schemas.WorkloadDetail),
    (views.Suspension, schemas.Suspension),
    (views.Scaling, schemas_services.Scaling),
    (views.Opening, schemas_services.Opening),
    (views.GangView, schemas.GangView),
    (views.Saved, schemas.Saved),
    (views.Spent, schemas.Spent),
    (daily_views.HistoryItem, schemas_daily.HistoryItem),
    (daily_views.HistoryPage, schemas_daily.HistoryPage),
    (views.Explained, schemas.Explanation),
    (views.Why, schemas.Why),
    (views.OrderItem, schemas.OrderItem),
    (views.OrderPage, schemas.OrderPage),
    (views.QueueView, schemas.QueueView),
    (views.QueuePage, schemas.QueuePage),
    (node_views.DeviceView, schemas_fleet.DeviceView),
    (node_views.NodeView, schemas_fleet.NodeView),
    (node_views.NodePage, schemas_fleet.NodePage),
    (FlavorReport, schemas_fleet.FlavorView),
    (node_views.CapacityPage, schemas_fleet.CapacityPage),
    *(
        (getattr(use_views, name), getattr(schemas_use, name))
        for name in ("DeviceUse", "GangUse", "UsePage", "Occupant", "NodeDetail")
    ),
    (views.Health, schemas_server.Health),
    (views.Check, schemas_server.Check),
    (views.Version, schemas_server.VersionView),
    (problem.Problem, schemas_problem.Problem),
    (problem.Wrong, schemas_problem.Wrong),
    (Verdict, schemas.Verdict),
    (policy_views.PolicyChange, schemas.PolicyChange),
    (policy_views.PolicyOutcome, schemas.PolicyOutcome),
    (policy_views.PolicyVersion, schemas.PolicyVersion),
    (policy_views.PolicyHistory, schemas.PolicyHistory),
    (policy_views.PolicyView, schemas.PolicyView),
    (policy_views.BookingView, schemas.BookingView),
    (policy_views.BookingPage, schemas.BookingPage),
    (drain_views.LeaverView, schemas_fleet.LeaverView),
    (drain_views.DrainView, schemas_fleet.DrainView),
    (drain_views.DrainPage, schemas_fleet.DrainPage),
    (schedule_views.ScheduleView, schemas_schedules.ScheduleView),
    (schedule_views.SchedulePage, schemas_schedules.SchedulePage),
    (bulk_views.Refusal, schemas_bulk.Refusal),
    (bulk_views.BulkAnswer, schemas_bulk.BulkAnswer),
    (bulk_views.BatchItem, schemas_bulk.BatchItem),
    (bulk_views.BatchAnswer, schemas_bulk.BatchAnswer),
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
