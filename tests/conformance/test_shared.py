"""The published scenarios, where they are at hand: what each kind must reach."""

import pytest

from conformance.deviations import load_deviations
from tests.conformance.files import SHARED, differences, results

MOST_DEVIATIONS = 3

if not SHARED.is_dir():
    pytest.skip(
        f"no scenarios in {SHARED}; set GANGLION_SCENARIOS to their folder",
        allow_module_level=True,
    )


def test_every_kai_scenario_passes_or_is_a_listed_deviation() -> None:
    different = differences(SHARED / "kai.yaml", "kai")
    listed = load_deviations()
    assert {name: said for name, said in different.items() if name not in listed} == {}
    assert len(different) <= MOST_DEVIATIONS


def test_random_clusters_settle_with_more_gpus_busy_and_fewer_evictions() -> None:
    found = results(SHARED / "kai_random_clusters.json.gz", "default")
    assert [each.id for each in found if not each.passed] == []

    def total(name: str) -> int:
        return sum(each.figures[name] for each in found)

    assert total("fewer_busy") <= len(found) // 20
    assert total("busy_gpus_milli") > total("busy_gpus_milli_origin")
    assert total("evictions") < total("evictions_origin")
