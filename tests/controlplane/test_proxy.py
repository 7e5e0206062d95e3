"""Trouble between client and API server happens as ordered, and only then."""

import json
import ssl
import threading
from collections.abc import Iterator

import httpx2
import pytest
from tests.controlplane.cluster import Cluster, wait
from tests.controlplane.faults import on, watches, writes
from tests.controlplane.proxy import Proxy

SPACES = "/api/v1/namespaces"


@pytest.fixture
def client(cluster: Cluster, proxy: Proxy) -> Iterator[httpx2.Client]:
    """A client that goes through the proxy."""
    with httpx2.Client(
        base_url=proxy.url,
        verify=ssl.create_default_context(cafile=cluster.plane.ca),
        headers={"Authorization": f"Bearer {cluster.plane.token()}"},
        timeout=5.0,
        trust_env=False,
    ) as made:
        yield made


def _space(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def test_without_faults_it_changes_nothing(client: httpx2.Client, cluster: Cluster) -> None:
    assert client.post(SPACES, json=_space("a")).status_code == 201
    straight = [each["metadata"]["uid"] for each in cluster.list(SPACES)]
    assert [each["metadata"]["uid"] for each in client.get(SPACES).json()["items"]] == straight


def test_a_request_fails_with_the_status_that_was_asked_for(
    client: httpx2.Client, proxy: Proxy, cluster: Cluster
) -> None:
    proxy.fail(writes, 429, nth=2, retry_after_s=3)
    answers = [client.post(SPACES, json=_space(f"s{index}")) for index in range(3)]
    assert [answer.status_code for answer in answers] == [201, 429, 201]
    assert answers[1].headers["Retry-After"] == "3"
    assert answers[1].json()["reason"] == "TooManyRequests"
    assert cluster.find(f"{SPACES}/s1") is None


def test_a_swallowed_write_is_done_and_its_answer_is_lost(
    client: httpx2.Client, proxy: Proxy, cluster: Cluster
) -> None:
    proxy.swallow(on("POST", "/namespaces$"))
    with pytest.raises(httpx2.TransportError):
        client.post(SPACES, json=_space("kept"))
    assert cluster.find(f"{SPACES}/kept") is not None


def test_a_cut_write_is_not_done(client: httpx2.Client, proxy: Proxy, cluster: Cluster) -> None:
    proxy.cut(writes)
    with pytest.raises(httpx2.TransportError):
        client.post(SPACES, json=_space("lost"))
    assert cluster.find(f"{SPACES}/lost") is None
    assert client.post(SPACES, json=_space("lost")).status_code == 201


@pytest.mark.parametrize("forwarded", [True, False])
def test_something_is_done_at_a_write(
    client: httpx2.Client, proxy: Proxy, cluster: Cluster, forwarded: bool
) -> None:
    there: list[bool] = []
    deed = lambda: there.append(cluster.find(f"{SPACES}/second") is not None)  # noqa: E731 - short
    proxy.at_write(2, deed, forwarded=forwarded)
    assert client.post(SPACES, json=_space("first")).status_code == 201
    with pytest.raises(httpx2.TransportError):
        client.post(SPACES, json=_space("second"))
    assert there == [forwarded]


def test_a_stalled_watch_is_silent_until_healed(
    client: httpx2.Client, proxy: Proxy, cluster: Cluster
) -> None:
    names: list[str] = []

    def follow() -> None:
        with client.stream("GET", SPACES, params={"watch": "true"}) as answer:
            for line in answer.iter_lines():
                names.append(json.loads(line)["object"]["metadata"]["name"])
                if names[-1] == "last":
                    return

    thread = threading.Thread(target=follow)
    thread.start()
    wait(lambda: "default" in names, "the watch to begin")
    proxy.stall(watches)
    cluster.add_namespace("unseen")
    assert client.get(f"{SPACES}/unseen").status_code == 200
    assert "unseen" not in names
    proxy.heal()
    cluster.add_namespace("last")
    thread.join(20)
    assert names[-2:] == ["unseen", "last"]


def test_a_dropped_watch_ends_with_an_error(client: httpx2.Client, proxy: Proxy) -> None:
    with client.stream("GET", SPACES, params={"watch": "true"}) as answer:
        lines = answer.iter_lines()
        next(lines)
        proxy.drop(watches)
        with pytest.raises(httpx2.TransportError):
            list(lines)


def test_down_refuses_and_up_takes_connections_again(client: httpx2.Client, proxy: Proxy) -> None:
    assert client.get("/version").status_code == 200
    proxy.down()
    with pytest.raises(httpx2.TransportError):
        client.get("/version")
    proxy.up()
    assert client.get("/version").status_code == 200


def test_a_delayed_request_comes_through(client: httpx2.Client, proxy: Proxy) -> None:
    proxy.delay(on("GET", "^/version$"), 1.5, times=1)
    with pytest.raises(httpx2.ReadTimeout):
        client.get("/version", timeout=0.5)
    assert client.get("/version").status_code == 200
