"""The chart's server, and the outbox of the scheduler that delivers to it."""

import importlib
import subprocess
from typing import Any

import click
import pytest
from tools.manifests import rendered

from ganglion.cli.registry import COMMANDS

pytestmark = pytest.mark.usefixtures("helm")

EAST = ("history.cluster=east", "history.tokenSecret.name=east-token")
Json = dict[str, Any]


def one(items: list[Json], kind: str, name: str) -> Json:
    (found,) = [e for e in items if e["kind"] == kind and e["metadata"]["name"] == name]
    return found


def parsed(container: Json) -> Json:
    """Arguments of a container as its command understands them."""
    name, *arguments = container["args"]
    module, _, attribute = COMMANDS[name].target.partition(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    return dict(command.make_context(name, list(arguments)).params)


def pod(item: Json) -> Json:
    found: Json = item["spec"]["template"]["spec"]
    return found


def mounts(spec: Json) -> dict[str, Json]:
    """Where a container has which volume."""
    volumes = {each["name"]: each for each in spec["volumes"]}
    (container,) = spec["containers"]
    return {each["mountPath"]: volumes[each["name"]] for each in container["volumeMounts"]}


def test_without_values_there_is_neither_a_server_nor_an_outbox() -> None:
    items = rendered()
    assert not [each for each in items if each["kind"] == "StatefulSet"]
    (container,) = pod(one(items, "Deployment", "ganglion"))["containers"]
    assert not [each for each in container["args"] if "outbox" in each or "deliver" in each]


def test_the_scheduler_delivers_to_the_server_of_the_chart_by_a_name_that_it_answers_to() -> None:
    items = rendered("server.enabled=true", *EAST)
    scheduler = pod(one(items, "Deployment", "ganglion"))
    wish = parsed(scheduler["containers"][0])
    server = pod(one(items, "StatefulSet", "ganglion-server"))
    given = parsed(server["containers"][0])
    assert wish["deliver_to"].removeprefix("http://") in given["host_name"]
    assert wish["deliver_as"] == "east"
    service = one(items, "Service", "ganglion-server")
    assert wish["deliver_to"].endswith(f":{service['spec']['ports'][0]['port']}")
    found = mounts(scheduler)
    folder, _, _ = wish["deliver_token"].rpartition("/")
    assert found[folder]["secret"]["secretName"] == "east-token"
    assert found[folder]["secret"]["optional"]
    assert wish["outbox"].startswith("/var/lib/ganglion/")
    assert found["/var/lib/ganglion"]["emptyDir"] == {}


def test_neither_service_finds_the_pods_of_the_other() -> None:
    items = rendered("server.enabled=true", *EAST)
    for kind, name in (("Deployment", "ganglion"), ("StatefulSet", "ganglion-server")):
        labels = one(items, kind, name)["spec"]["template"]["metadata"]["labels"]
        chosen = [
            each["metadata"]["name"]
            for each in items
            if each["kind"] == "Service" and each["spec"]["selector"].items() <= labels.items()
        ]
        assert chosen == [name]


def test_the_ledger_lies_in_the_volume_or_in_the_database_that_a_secret_names() -> None:
    def server(*values: str) -> Json:
        return one(rendered("server.enabled=true", *values), "StatefulSet", "ganglion-server")

    plain, by_url = server(), server("server.database.secretName=pg")
    for each in (plain, by_url):
        assert each["spec"]["replicas"] == 1
        (claim,) = each["spec"]["volumeClaimTemplates"]
        variables = {v["name"]: v for v in pod(each)["containers"][0]["env"]}
        home = variables["GANGLION_HOME"]["value"]
        (mount,) = [m for m in pod(each)["containers"][0]["volumeMounts"] if m["name"] == "home"]
        assert claim["metadata"]["name"] == "home"
        assert home.startswith(mount["mountPath"] + "/")
        # No password is an argument, which every process of the node may read.
        assert "db" not in " ".join(pod(each)["containers"][0]["args"])
    variables = {v["name"]: v for v in pod(by_url)["containers"][0]["env"]}
    assert variables["GANGLION_DB"]["valueFrom"]["secretKeyRef"] == {"name": "pg", "key": "url"}


def test_without_a_certificate_the_server_gets_the_flag_for_plain_http() -> None:
    for values in ((), ("server.tlsSecret=cert",)):
        server = one(rendered("server.enabled=true", *values), "StatefulSet", "ganglion-server")
        given = parsed(pod(server)["containers"][0])
        assert (given["behind_proxy"], bool(given["tls_cert"])) == (not values, bool(values))


def test_an_outbox_may_lie_in_a_volume_that_survives_its_pod() -> None:
    values = (*EAST, "history.url=https://audit.example.org", "history.caSecret=ca")
    claim = "history.volume.persistentVolumeClaim.claimName=outbox"
    scheduler = pod(one(rendered(*values, claim), "Deployment", "ganglion"))
    found = mounts(scheduler)
    assert found["/var/lib/ganglion"]["persistentVolumeClaim"] == {"claimName": "outbox"}
    (authority,) = [
        e["value"] for e in scheduler["containers"][0]["env"] if e["name"] == "GANGLION_CA_FILE"
    ]
    assert found[authority.rpartition("/")[0]]["secret"]["secretName"] == "ca"
    assert parsed(scheduler["containers"][0])["deliver_to"] == "https://audit.example.org"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (("history.cluster=east",), "history"),
        (("history.cluster=EAST",), "cluster"),
        (("history.cluster=east", "server.enabled=true"), "history.tokenSecret.name"),
    ],
)
def test_values_that_do_not_go_together_are_refused(values: tuple[str, ...], said: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        rendered(*values)
    assert said in refused.value.stderr


def test_with_network_policies_the_scheduler_reaches_the_server() -> None:
    items = rendered("server.enabled=true", "networkPolicy.enabled=true", *EAST)
    rules = one(items, "NetworkPolicy", "ganglion")["spec"]["egress"]
    chosen = [to["podSelector"]["matchLabels"] for rule in rules for to in rule.get("to", ())]
    labels = one(items, "StatefulSet", "ganglion-server")["spec"]["template"]["metadata"]["labels"]
    assert labels in chosen
    assert one(items, "NetworkPolicy", "ganglion-server")["spec"]["policyTypes"] == ["Ingress"]


@pytest.mark.parametrize("logs", [False, True])
def test_the_scheduler_may_read_logs_only_where_a_value_lets_it(logs: bool) -> None:
    items = rendered("server.enabled=true", *EAST, f"history.logs={str(logs).lower()}")
    wish = parsed(pod(one(items, "Deployment", "ganglion"))["containers"][0])
    assert wish["deliver_logs"] is logs
    rules = one(items, "ClusterRole", "ganglion-workloads")["rules"]
    found = [each["verbs"] for each in rules if "pods/log" in each["resources"]]
    assert found == ([["get"]] if logs else [])
