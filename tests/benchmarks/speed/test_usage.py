"""The benchmark of usage asks a ledger of its own, and checks what it answers."""

from benchmarks.registry import BenchOptions, load, silent


def test_every_question_is_asked_of_every_period() -> None:
    report = load("usage").run(BenchOptions(gangs=30_000), silent)
    asked = report.data["asked"]
    assert len(asked) == len(report.tables[0].rows) == 36
    assert asked["91 days by queue"]["groups"] == 40
    priced = asked["91 days by queue, hour prices"]
    assert priced["held_gpu_us"] == asked["91 days by queue"]["held_gpu_us"]
    hours = priced["held_gpu_us"] / 3_600_000_000
    assert 1_200_000 * hours < priced["cost_micro"] < 2_500_000 * hours
    assert 0 < asked["7 days by user"]["held_gpu_us"] < asked["91 days by user"]["held_gpu_us"]
    assert all(each["cpu_s"] > 0 for each in asked.values())
