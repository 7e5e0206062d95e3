"""`ganglion top` and `ganglion describe node` against a real server."""

import json
import sys

from tests.daily.conftest import Ganglion, Site
from tests.server.process import until

SPIN = f"exec {sys.executable} -c 'while True: pass'"


def test_top_shows_cpu_of_jobs_and_no_figures_of_pretend_gpus(
    site: Site, ganglion: Ganglion
) -> None:
    job = site.submit("spin", SPIN, resources={"gpus": 2})
    site.reach(job, "RUNNING")

    def used() -> dict[str, object] | None:
        page = json.loads(ganglion("top", "-o", "json").out)
        gang = next(each for each in page["gangs"] if each["workload"] == job)
        return gang if (gang["cpu_milli"] or 0) > 100 else None

    gang = until(used)
    assert gang["processes"] == 1
    assert gang["gpu_busy_milli"] is gang["power_mw"] is None
    lines = ganglion("top", "--by", "user").out.splitlines()
    assert lines[0].split() == [
        "NODE",
        "GPU",
        "TYPE",
        "UTIL",
        "MEMORY",
        "POWER",
        "USER",
        "USED",
        "BY",
    ]
    gpus = [line.split() for line in lines[1:9]]
    assert sum(f"{job}/0" in each for each in gpus) == 2
    assert {each[3] for each in gpus} == {"?"}
    ganglion("cancel", job, "--force")


def test_describe_node_names_who_is_on_it(site: Site, ganglion: Ganglion) -> None:
    job = site.submit("sits", "sleep 60", resources={"gpus": 4})
    site.reach(job, "RUNNING")
    with site.client() as client:
        node = client.workload(job).gangs[0].placement
    assert node
    name = node.pods[0].node
    ganglion("cordon", name, "--reason", "fan broken")
    shown = ganglion("describe", "node", name).out
    ganglion("uncordon", name)
    ganglion("cancel", job, "--force")
    assert f"{name} cordoned" in shown
    assert "fan broken" in shown
    assert f"no; ganglion uncordon {name} ends that" in " ".join(shown.split())
    assert shown.count(f"{job}/0") == 5, shown
    refused = ganglion("describe", "node", "n9")
    assert (refused.code, "there is no node n9" in refused.err) == (1, True)
    assert ganglion("describe", "a", "b").code == 2


def test_in_a_cluster_the_local_verbs_say_what_to_do_instead(ganglion: Ganglion) -> None:
    for words, instead in ((["top"], "kubectl top"), (["describe", "node", "a"], "kubectl")):
        done = ganglion(*words, "--context", "prod", "-o", "json")
        error = json.loads(done.err)
        assert (done.code, error["code"]) == (1, "state.local_only")
        assert instead in error["hint"]
