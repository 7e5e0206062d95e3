"""What is made of the reports of an attempt."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ganglion.lifecycle.reports.hearing import (
    ALARM_MS,
    BROKEN,
    BURST,
    FLOOD,
    METRIC_MS,
    NOT_A_NUMBER,
    ORDER,
    OUTSIDE,
    QUIET_MS,
    Hearing,
)
from ganglion.lifecycle.reports.line import MOST_METRICS
from ganglion.model.events import AlarmSet, CheckpointCommitted, Event, MetricReported

BEGUN = 1_000_000
NOW = BEGUN + 100_000


def hearing() -> Hearing:
    return Hearing("a-1/0", 2, BEGUN, "/ck")


def hear(ears: Hearing, now: int = NOW, pod: int = 0, **line: Any) -> None:
    ears.hear(pod, json.dumps(line).encode(), written=now, now=now)


def save(ears: Hearing, step: int, now: int = NOW, pod: int = 0, **more: Any) -> None:
    hear(ears, now, pod, checkpoint={"step": step, "path": f"{step}.pt", **more})


def saved(events: list[Event]) -> list[tuple[int, int, str]]:
    return [(e.at, e.step, e.path) for e in events if isinstance(e, CheckpointCommitted)]


def metrics(events: list[Event]) -> list[tuple[str, int, float]]:
    return [(e.name, e.step, e.value) for e in events if isinstance(e, MetricReported)]


def alarms(events: list[Event]) -> dict[str, str]:
    return {e.alarm: e.message for e in events if isinstance(e, AlarmSet)}


# --- checkpoints ------------------------------------------------------------------------------


def test_a_checkpoint_is_told_with_step_and_path_and_the_time_it_is_about() -> None:
    ears = hearing()
    hear(ears, checkpoint={"step": 7, "path": "x/7.pt"}, at=NOW - 500)
    (event,) = ears.tell(NOW)
    assert event == CheckpointCommitted(NOW - 500, "a-1/0", 2, 7, "/ck/x/7.pt")
    assert ears.tell(NOW + QUIET_MS) == []


def test_of_many_checkpoints_the_newest_is_told_now_and_then_and_at_the_end() -> None:
    ears = hearing()
    told = []
    for step in range(1, 1_001):
        save(ears, step, NOW + 100 * step)
        told += saved(ears.tell(NOW + 100 * step))
    assert len(told) == 1 + 999 * 100 // QUIET_MS
    assert [at for at, *_ in told] == sorted(at for at, *_ in told)
    save(ears, 2_000, NOW + 100_001)
    assert saved(ears.tell(NOW + 100_002)) == []
    assert saved(ears.tell(NOW + 100_002, over=True)) == [(NOW + 100_001, 2_000, "/ck/2000.pt")]


def test_that_several_pods_tell_of_one_checkpoint_changes_nothing() -> None:
    ears = hearing()
    save(ears, 100, NOW, pod=0)
    save(ears, 200, NOW + 5, pod=0)
    save(ears, 100, NOW + 6, pod=1)
    save(ears, 200, NOW + 7, pod=1)
    assert saved(ears.tell(NOW + 8)) == [(NOW + 5, 200, "/ck/200.pt")]


def test_a_step_that_goes_backwards_does_not_count_and_raises_an_alarm() -> None:
    ears = hearing()
    save(ears, 200)
    save(ears, 100, NOW + 1)
    events = ears.tell(NOW + 1)
    assert saved(events) == [(NOW, 200, "/ck/200.pt")]
    assert "step 100 was saved after step 200" in alarms(events)[ORDER]


def test_a_program_may_go_back_on_purpose() -> None:
    ears = hearing()
    save(ears, 200)
    save(ears, 100, NOW + 1, rewind=True)
    save(ears, 110, NOW + 2)
    events = ears.tell(NOW + 2)
    assert saved(events) == [(NOW + 2, 110, "/ck/110.pt")]
    assert not alarms(events)


def test_a_program_that_counts_no_steps_saves_all_the_same() -> None:
    ears = hearing()
    for late in (0, QUIET_MS):
        hear(ears, NOW + late, checkpoint={"path": "last.pt"})
        assert saved(ears.tell(NOW + late)) == [(NOW + late, 0, "/ck/last.pt")]


def test_a_path_outside_counts_and_raises_an_alarm() -> None:
    ears = hearing()
    hear(ears, checkpoint={"step": 1, "path": "../other/1.pt"})
    events = ears.tell(NOW)
    assert saved(events) == [(NOW, 1, "/other/1.pt")]
    assert "/other/1.pt, outside of its checkpoint directory /ck" in alarms(events)[OUTSIDE]


def test_urls_are_handed_on_as_they_are() -> None:
    ears = hearing()
    hear(ears, checkpoint={"step": 1, "path": "s3://bucket/../1.pt"})
    assert ears.tell(NOW) == [CheckpointCommitted(NOW, "a-1/0", 2, 1, "s3://bucket/../1.pt")]


def test_a_mark_says_when_but_hides_no_path() -> None:
    ears = hearing()
    save(ears, 7, NOW)
    ears.marked(NOW + 5)
    ears.marked(NOW + 5)
    assert saved(ears.tell(NOW + 9)) == [(NOW, 7, "/ck/7.pt"), (NOW + 5, 0, "")]


# --- times ------------------------------------------------------------------------------------


def test_times_that_cannot_be_count_as_the_time_of_writing_and_raise_an_alarm() -> None:
    for wrong in (NOW + 10_000_000, 1_700_000, 1_700_000_000_000_000_000):
        late = Hearing("a-1/0", 2, BEGUN + 1_700_000_000_000, "/ck")
        now = NOW + 1_700_000_000_000
        at = wrong if wrong < now else now + wrong
        line = json.dumps({"checkpoint": {"step": 1}, "at": at}).encode()
        late.hear(0, line, written=now - 3, now=now)
        events = late.tell(now)
        assert saved(events) == [(now - 3, 1, "")]
        assert "at is" in alarms(events)[BROKEN]


def test_clocks_that_differ_a_little_raise_no_alarm_and_nothing_lies_ahead() -> None:
    ears = hearing()
    hear(ears, checkpoint={"step": 1}, at=NOW + 30_000)
    assert ears.tell(NOW) == [CheckpointCommitted(NOW, "a-1/0", 2, 1)]


# --- metrics ----------------------------------------------------------------------------------


def test_metrics_are_told_with_their_step() -> None:
    ears = hearing()
    hear(ears, metrics={"step": 5, "loss": 0.25, "acc": 1})
    assert metrics(ears.tell(NOW)) == [("loss", 5, 0.25), ("acc", 5, 1.0)]


def test_of_many_values_the_newest_are_told_and_no_more_than_the_pace_allows() -> None:
    ears = hearing()
    told = []
    for step in range(1, 10_001):
        hear(ears, NOW + 10 * step, metrics={"step": step, "loss": 1 / step})
        told += metrics(ears.tell(NOW + 10 * step))
    assert BURST <= len(told) <= BURST + 10_000 * 10 // METRIC_MS + 1
    hear(ears, NOW + 100_001, metrics={"step": 10_001, "loss": 0.5})
    assert metrics(ears.tell(NOW + 100_001, over=True)) == [("loss", 10_001, 0.5)]


def test_every_name_has_its_turn() -> None:
    ears = hearing()
    told: set[str] = set()
    for second in range(400):
        hear(ears, NOW + 1_000 * second, metrics={"step": second, "a": 1, "b": 2, "c": 3})
        told |= {name for name, step, _ in metrics(ears.tell(NOW + 1_000 * second)) if step > 200}
    assert told == {"a", "b", "c"}


def test_names_without_end_are_left_out_with_an_alarm() -> None:
    ears = hearing()
    for number in range(1_000):
        hear(ears, metrics={f"m{number}": 1})
    events = ears.tell(NOW, over=True)
    assert len(metrics(events)) == MOST_METRICS
    assert f"m{MOST_METRICS} is left out" in alarms(events)[FLOOD]


def test_a_value_that_is_no_number_is_an_alarm_until_it_is_one_again() -> None:
    ears = hearing()
    hear(ears, metrics={"step": 9, "loss": None})
    assert ears.tell(NOW) == [
        AlarmSet(NOW, "a-1/0", NOT_A_NUMBER, "loss is not a number at step 9")
    ]
    hear(ears, metrics={"step": 10, "loss": None})
    assert ears.tell(NOW) == []
    hear(ears, metrics={"step": 11, "loss": 0.5})
    assert alarms(ears.tell(NOW + ALARM_MS)) == {NOT_A_NUMBER: ""}


def test_an_alarm_that_comes_and_goes_all_the_time_is_told_now_and_then() -> None:
    ears, told = hearing(), list[Event]()
    for second in range(600):
        hear(ears, NOW + 1_000 * second, metrics={"loss": None if second % 2 else 0.5})
        told += [e for e in ears.tell(NOW + 1_000 * second) if isinstance(e, AlarmSet)]
    assert 1 < len(told) <= 1 + 600_000 // ALARM_MS


# --- activity ---------------------------------------------------------------------------------


def test_a_program_says_whether_it_is_busy() -> None:
    ears = hearing()
    assert ears.activity.busy is None
    hear(ears, busy=True)
    hear(ears, NOW + 5, busy=False, at=NOW + 3)
    hear(ears, NOW + 9, metrics={"loss": 1})
    said = ears.activity
    assert (said.busy, said.said, said.heard) == (False, NOW + 3, NOW + 9)
    assert not [event for event in ears.tell(NOW + 9) if not isinstance(event, MetricReported)]


# --- nonsense ---------------------------------------------------------------------------------


def test_broken_lines_raise_one_alarm_that_quotes_the_first() -> None:
    ears = hearing()
    for number in range(100):
        ears.hear(3, b"loss \x07 %d" % number, written=NOW, now=NOW)
    ((alarm, message),) = alarms(ears.tell(NOW)).items()
    assert alarm == BROKEN
    assert message.startswith("pod 3 reports an invalid line")
    assert message.endswith("loss ? 0")
    assert ears.tell(NOW) == []


_values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_line = st.fixed_dictionaries(
    {},
    optional={
        "checkpoint": st.fixed_dictionaries(
            {},
            optional={
                "step": st.integers(-5, 300),
                "path": st.text(max_size=20),
                "rewind": st.booleans(),
            },
        ),
        "metrics": st.dictionaries(st.sampled_from(["step", "loss", "acc", "a b"]), _values),
        "busy": _values,
        "at": st.integers(0, 2 * NOW) | st.floats(),
    },
)


@given(st.lists(st.tuples(st.integers(0, 2), _line, st.integers(0, 20_000), st.booleans())))
def test_whatever_is_reported_times_never_lie_ahead_nor_before_and_saves_move_forward(
    reports: list[tuple[int, dict[str, Any], int, bool]],
) -> None:
    ears, now, events = hearing(), NOW, list[Event]()
    for pod, line, later, look in reports:
        now += later
        ears.hear(pod, json.dumps(line).encode(), written=now, now=now)
        events += ears.tell(now) if look else []
    events += ears.tell(now, over=True)
    assert all(BEGUN <= event.at <= now for event in events)
    times = [at for at, *_ in saved(events)]
    assert times == sorted(times)
    assert len(events) <= 3 * len(reports) + len(reports) + 5
