"""A server asks the scheduler of a cluster: a real API server, and both as processes."""

import json
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.cli.cluster.doubles import Logs, kubelet
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.process import SchedulerProcess
from tests.worlds.kubernetes.test_outbox import (
    LIMIT_S,
    ServerProcess,
    ready,
    reporting,
    run_gang,
    server,
    waits_said,
)

__all__ = ["server"]

AT = "2026-11-01T12:00:00.{:09}Z {}\n"


def why(server: ServerProcess) -> dict[str, Any]:
    code, text = server.run("why", "late", "-o", "json")
    assert code == 0
    found: dict[str, Any] = json.loads(text)
    return found


def answered(server: ServerProcess) -> dict[str, Any] | None:
    found = why(server)
    return found if found["asked"]["answered"] else None


def test_the_server_asks_for_suggestions_and_logs_and_again_after_a_restart(
    cluster: Cluster, server: ServerProcess, tmp_path: Path
) -> None:
    logs, token = Logs(), tmp_path / "token"
    with kubelet(cluster.plane, logs) as port, ExitStack() as stack:
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        for name in cluster.add_nodes(2, gpus=4):
            cluster.patch(f"/api/v1/nodes/{name}/status", {"status": status})
        with server.running(signal.SIGTERM):
            cluster.wait(lambda: ready(server), "the server serves", LIMIT_S)
            assert server.run("role", "grant", "east", "reporter", "-q", "east:")[0] == 0
            code, made = server.run("token", "create", "east", "reporter", "-q", "east:")
            assert code == 0
            token.write_text(made.strip().split()[-1])
            args = [*reporting(server, tmp_path / "outbox", token), "--deliver-logs"]
            scheduler = stack.enter_context(SchedulerProcess(cluster.kubeconfig, *args))
            first, second = sorted(run_gang(cluster, "train"))
            logs.text = {
                first: AT.format(1, "step 1") + AT.format(2, "step 2"),
                second: AT.format(1, "hello"),
            }
            cluster.add_gang("late", 1, gpus=4)
            cluster.wait(lambda: waits_said(server), "it is said why it waits", LIMIT_S)
            found = cluster.wait(lambda: answered(server), scheduler.log, LIMIT_S)
            assert found["asked"]["pods"] == ["late-0"]
            (told,) = found["explanations"]
            assert told["holders"][0].startswith("east:train-")
            assert server.run("logs", "train") == (0, "step 1\nstep 2\n")
            assert server.run("logs", "train", "--rank", "1") == (0, "hello\n")
            assert logs.asked[-1][1]["timestamps"] == ["true"]
        with server.running(signal.SIGTERM):
            cluster.wait(lambda: ready(server), "the server serves", LIMIT_S)
            cluster.wait(lambda: answered(server), scheduler.log, LIMIT_S)
            assert server.run("logs", "train", "--rank", "1") == (0, "hello\n")
            scheduler.kill()
            cluster.wait(lambda: why(server)["asked"]["trouble"], "no answer", LIMIT_S)
