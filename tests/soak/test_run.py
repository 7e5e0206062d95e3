"""A short soak on a real API server keeps its promises, and says so where one is broken."""

from pathlib import Path

from benchmarks.controlplane.programs import Programs
from tests.controlplane.fixtures import control_plane_programs
from tests.soak.run import Figures, soak

__all__ = ["control_plane_programs"]


def test_a_short_soak_breaks_no_promise(control_plane_programs: Programs, tmp_path: Path) -> None:
    found = soak(control_plane_programs, 10, 40, 1, tmp_path)
    assert found.promises_kept(), found
    assert found.pods >= 40  # a gang is made whole
    assert found.bound >= 40
    assert sum(found.faults.values()) > 5
    assert found.revisions > 150


def test_every_broken_promise_counts() -> None:
    assert Figures().promises_kept()
    for broken in (
        Figures(over_allocated=1),
        Figures(half_gangs=1),
        Figures(leaks=["threads"]),
        Figures(refused={"p": "OutOfcpu"}),
    ):
        assert not broken.promises_kept()
