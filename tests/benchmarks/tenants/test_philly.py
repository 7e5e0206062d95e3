"""`tenant-philly`: who takes part, what each owns, and that alone means alone."""

from pathlib import Path

import pytest

from benchmarks.common.jobs import Cluster, Job
from benchmarks.registry import BenchOptions, silent
from benchmarks.tenants import jobs as tenant_jobs
from benchmarks.tenants.jobs import Tenants, made_up, read_tenants
from benchmarks.tenants.philly import BENCH, POLICIES, POOLED, in_one_line, isolated
from ganglion.model.errors import FieldError, NotFound

HEADER = "job_id,submit_s,duration_s,num_gpus,user,vc,status,gpu_type\n"
DAY_S = 86_400


def write(folder: Path, **vcs: int) -> Path:
    rows = [
        f"{vc}-{n},{30 * DAY_S + 60 * n},600,{1 + n % 2},,{vc},,"
        for vc, count in vcs.items()
        for n in range(count)
    ]
    rows += [f"early-{n},{n},600,1,,{vc},," for vc in vcs for n in range(3)]
    (folder / "jobs.csv").write_text(HEADER + "\n".join(sorted(rows)) + "\n")
    return folder


def test_only_virtual_clusters_with_enough_jobs_in_the_two_months_take_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant_jobs, "FEWEST_JOBS", 20)
    found = read_tenants(write(tmp_path, a=21, b=20))
    assert [(each.name, len(each.jobs)) for each in found.clusters] == [("a", 21)]


def test_in_fewer_days_fewer_jobs_are_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant_jobs, "FEWEST_JOBS", 122)
    found = read_tenants(write(tmp_path, a=42, b=43), days=21)
    assert [(each.name, len(each.jobs)) for each in found.clusters] == [("b", 43)]


def test_nobody_with_enough_jobs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no vc"):
        read_tenants(write(tmp_path, a=5))


def test_together_tenants_have_as_much_as_apart() -> None:
    tenants = made_up(0, tenants=2, count=20)
    quotas = [amount.gpu_milli or 0 for q in tenants.queues() for amount in q.quota.values()]
    assert sum(quotas) == tenants.nodes * 8000
    assert len(tenants.jobs()) == sum(len(each.jobs) for each in tenants.clusters)


def test_every_policy_runs_every_job_and_the_averages_pool() -> None:
    data = BENCH.run(BenchOptions(), silent).data
    assert set(data["avg_jct_s"]) == set(POLICIES)
    jobs = sum(vc["jobs"] for vc in data["vcs"].values())
    for name, figure in data["avg_jct_s"].items():
        total = sum(vc["jobs"] * vc["avg_jct_s"][name] for vc in data["vcs"].values())
        assert figure == pytest.approx(total / jobs)
    assert 0 < data["shared"]["jain_of_share_over_entitlement"] <= 1


def test_pooled_peers_share_one_line_and_all_nodes() -> None:
    """Two tenants of a node each: both nodes are taken until one comes free after 100 s."""
    second = 1_000
    held = (Job(0, 0, 100 * second, 8), Job(1, 0, 200 * second, 8))
    later = (Job(0, 10 * second, 1_000 * second, 8), Job(1, 20 * second, 10 * second, 8))
    tenants = Tenants((Cluster("a", 1, held), Cluster("b", 1, later)), synthetic=True)

    oldest = averages(tenants, "fifo-pooled")
    smallest = averages(tenants, "ssf-easy-pooled")

    assert oldest == {"a": 150, "b": (90 + 1_000 + 180 + 10) / 2}
    assert smallest == {"a": 150, "b": (100 + 1_000 + 80 + 10) / 2}


def test_a_charged_restart_makes_srsf_take_longer_by_just_that() -> None:
    """A short job stops a long one once."""
    second = 1_000
    jobs = (Job(0, 0, 1_000 * second, 8), Job(1, 100 * second, 50 * second, 8))
    tenants = Tenants((Cluster("a", 1, jobs),), synthetic=True)

    assert averages(tenants, "srsf") == {"a": (1_050 + 50) / 2}
    assert averages(tenants, "srsf-charged") == {"a": (1_110 + 50) / 2}


def averages(tenants: Tenants, policy: str) -> dict[str, float]:
    if policy in POOLED:
        return in_one_line(tenants, policy)
    return {each.name: isolated(each, policy) for each in tenants.clusters}


@pytest.mark.parametrize("text", ["a", "0", "62"])
def test_a_number_of_days_that_the_trace_has_not_is_refused(text: str) -> None:
    with pytest.raises(FieldError, match="a number of days"):
        BENCH.run(BenchOptions(workload=text), silent)
