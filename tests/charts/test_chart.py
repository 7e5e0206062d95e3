"""The chart, the raw manifests and what is said about them belong together."""

import importlib
import re
from pathlib import Path
from typing import Any

import click
import jsonschema_rs
import msgspec
import pytest
import yaml
from tests.worlds.kubernetes.rbac import LIVES, chart_rights, manifests
from tools import crds
from tools import manifests as deploy

from ganglion.cli.cluster.scheduler import DEFAULT
from ganglion.cli.registry import COMMANDS
from ganglion.files.policy_schema import SCOPES
from ganglion.model.levels import Level
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.config.settings import KEYS, parse_settings
from ganglion.worlds.kubernetes.gangs.kinds import KINDS, POD
from ganglion.worlds.kubernetes.watches import ALWAYS

CHART = deploy.CHART
ROOT = deploy.ROOT
SCHEMA: dict[str, Any] = msgspec.json.decode((CHART / "values.schema.json").read_bytes())
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
INSTALL = (ROOT / "docs" / "install.md").read_text("utf-8")
needs_helm = pytest.mark.skipif(not deploy.helm(), reason="Helm is not there")


def test_the_definitions_are_what_the_schema_of_policy_files_says() -> None:
    assert crds.stale() == [], "run: python tools/crds.py"


@needs_helm
def test_the_raw_manifests_are_those_of_the_chart() -> None:
    assert deploy.stale() == [], "run: python tools/manifests.py"


def test_every_key_of_a_file_is_a_key_of_an_object() -> None:
    queue, policy = spec(crds.queues()), spec(crds.policies())
    assert set(queue) == set(SCOPES["queues"].model_fields) - {"name"}
    assert set(policy) == set(SCOPES[""].model_fields) - {"queues"}
    for scope in ("preemption", "flavors"):
        assert set(queue[scope]["properties"]) == set(SCOPES[scope].model_fields)
    for scope in ("preemption", "evict", "future", "repack", "usage"):
        assert set(policy[scope]["properties"]) == set(SCOPES[scope].model_fields)


def spec(definition: dict[str, Any]) -> dict[str, Any]:
    (version,) = definition["spec"]["versions"]
    assert (definition["spec"]["group"], version["name"]) == (names.GROUP, names.VERSION)
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found["properties"]


def test_the_schema_of_values_is_a_schema_and_the_usual_values_keep_to_it() -> None:
    jsonschema_rs.meta.validate(SCHEMA)
    assert jsonschema_rs.validator_for(SCHEMA).is_valid(VALUES)


def test_every_value_is_in_the_schema_and_the_other_way_round() -> None:
    assert keys_of(VALUES, SCHEMA) == []


def keys_of(values: dict[str, Any], schema: dict[str, Any], path: str = "") -> list[str]:
    """Keys that only one of the two has."""
    known = schema.get("properties")
    if known is None:
        return []
    optional = {"global", "initialDelaySeconds"}
    wrong = [f"{path}.{key}" for key in values.keys() ^ (known.keys() - optional)]
    for key in values.keys() & known.keys():
        if isinstance(values[key], dict):
            wrong += keys_of(values[key], known[key], f"{path}.{key}")
    return wrong


@needs_helm
def test_settings_are_a_file_that_the_scheduler_takes() -> None:
    items = deploy.rendered(
        "settings.topology.levels.example\\.com/row=block",
        "settings.topology.ignore[0]=region",
        "settings.timers.provision=20m",
    )
    (config,) = [each for each in items if each["kind"] == "ConfigMap"]
    found = parse_settings(config["data"]["settings.yaml"])
    assert found.sources.keys == {"example.com/row": Level.BLOCK}
    assert (found.sources.ignored, found.provision_ms) == ({Level.REGION}, 1_200_000)
    (template,) = [each["spec"]["template"] for each in items if each["kind"] == "Deployment"]
    (container,) = template["spec"]["containers"]
    (flag,) = [each for each in container["args"] if each.startswith("--settings=")]
    volumes = {each["name"]: each for each in template["spec"]["volumes"]}
    mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    folder, _, name = flag.removeprefix("--settings=").rpartition("/")
    assert volumes[mounts[folder]]["configMap"]["name"] == config["metadata"]["name"]
    assert name in config["data"]
    assert len(template["metadata"]["annotations"]["ganglion.dev/settings"]) == 64


def test_the_schema_knows_every_setting() -> None:
    known = SCHEMA["properties"]["settings"]["properties"]
    assert known.keys() == set(KEYS[""])
    for scope in KEYS[""]:
        assert known[scope]["properties"].keys() == set(KEYS[scope])


def test_every_value_has_its_comment() -> None:
    lines = (CHART / "values.yaml").read_text("utf-8").splitlines()
    bare = [
        line
        for above, line in zip(["", *lines], lines, strict=False)
        if re.match(r"[a-zA-Z]+: (\{\}|\[\]|\"\"|true|false|[0-9])", line) and "#" not in above
    ]
    assert set(bare) <= {"nodeSelector: {}", "affinity: {}", "podAnnotations: {}", "podLabels: {}"}


def test_the_scheduler_is_as_restricted_as_a_pod_can_be() -> None:
    pod = deployment()["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "hostNetwork" not in pod
    assert pod.get("schedulerName", "default-scheduler") != names.SCHEDULER


def test_a_standby_is_warm_and_no_rollout_or_drain_takes_both() -> None:
    found = deployment()
    assert found["spec"]["replicas"] == 2
    assert found["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    (budget,) = [each for each in manifests("ganglion.yaml") if each["kind"].endswith("Budget")]
    assert budget["spec"]["minAvailable"] == 1
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_what_is_read_is_what_may_be_read() -> None:
    collections = {each.path for each in ALWAYS}
    collections |= {f"/apis/{k.group}/v1/{k.plural}" for k in KINDS.values() if k.ident != POD}
    parts = [path.split("/") for path in collections]
    watched = {(each[2] if each[1] == "apis" else "", each[-1]) for each in parts}
    for verb in ("list", "watch"):
        may = {(each.group, each.resource) for each in chart_rights() if each.verb == verb}
        assert may == watched


def test_owners_can_be_stopped_where_they_have_a_switch_and_only_there() -> None:
    switches = {(each.group, each.plural) for each in KINDS.values() if each.suspend}
    for verb in ("get", "patch"):
        may = {(each.group, each.resource) for each in chart_rights() if each.verb == verb}
        own = {("coordination.k8s.io", "leases"), ("events.k8s.io", "events")}
        own |= {each[:2] for each in LIVES if each.verb == verb}
        assert {each for each in may if each[0] and "/" not in each[1]} - own == switches


def test_users_may_be_let_to_the_views_where_the_command_line_looks_for_them() -> None:
    namespace, _, service = DEFAULT.partition("/")
    (role,) = [
        each for each in manifests("ganglion.yaml") if each["metadata"]["name"] == "ganglion-views"
    ]
    assert role["metadata"]["namespace"] == namespace
    (rule,) = role["rules"]
    assert rule["resourceNames"] == [f"http:{service}"]
    assert (rule["resources"], rule["verbs"]) == (["services/proxy"], ["get"])


def test_the_scheduler_takes_the_arguments_that_it_is_given() -> None:
    (container,) = deployment()["spec"]["template"]["spec"]["containers"]
    name, *arguments = container["args"]
    module, _, attribute = COMMANDS[name].target.partition(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    context = command.make_context(name, arguments)
    assert context.params["listen"] == "0.0.0.0:8080"
    assert context.params["lease"] == "ganglion"


def test_nothing_admits_or_changes_the_objects_of_others() -> None:
    kinds = {each["kind"] for each in manifests("ganglion.yaml")}
    assert [kind for kind in kinds if "Webhook" in kind] == []


def test_the_page_says_of_every_right_what_it_is_for() -> None:
    table = INSTALL[INSTALL.index("## What it may do") :]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    said = {
        (resource.strip("`"), verb)
        for row in rows
        for resource in re.findall(r"`[^`]+`", row.split("|")[1])
        for verb in re.findall(r"[a-z]+", row.split("|")[2])
    }
    wanted = {
        (f"{each.resource}.{each.group}" if each.group else each.resource, each.verb)
        for each in chart_rights()
    }
    assert sorted(wanted - said) == []
    assert sorted(said - wanted) == []


def test_alerts_lead_to_paragraphs_that_exist() -> None:
    rules = (CHART / "templates" / "prometheusrule.yaml").read_text("utf-8")
    found = re.findall(r"runbook: (\S+)#(\S+)", rules)
    assert len(found) == rules.count("- alert:")
    for page, anchor in found:
        titles = re.findall(r"^##+ (.+)$", (ROOT / page).read_text("utf-8"), re.MULTILINE)
        assert anchor in {slug(title) for title in titles}


def slug(title: str) -> str:
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def test_the_image_is_built_from_what_is_pinned_and_runs_as_nobody() -> None:
    text = (ROOT / "Containerfile").read_text("utf-8")
    assert "--require-hashes -r requirements/runtime.txt" in text
    last = text[text.rindex("FROM ") :]
    assert re.search(r"^USER 65532:65532$", last, re.MULTILINE)
    assert "RUN pip" not in last


def test_everything_that_the_image_copies_is_in_the_tree() -> None:
    text = (ROOT / "Containerfile").read_text("utf-8")
    copies = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
    assert copies
    missing = [part for each in copies for part in each.split() if not (ROOT / part).exists()]
    assert missing == []


def test_links_of_the_package_lead_to_what_the_image_copies() -> None:
    text = (ROOT / "Containerfile").read_text("utf-8")
    copied = [ROOT / each for each in re.findall(r"^COPY (\S+) \1$", text, re.MULTILINE)]
    links = [each for each in (ROOT / "src").rglob("*") if each.is_symlink()]
    assert links
    for each in links:
        assert any(each.resolve().is_relative_to(folder) for folder in copied), each


def deployment() -> dict[str, Any]:
    (found,) = [each for each in manifests("ganglion.yaml") if each["kind"] == "Deployment"]
    return found


def test_the_version_of_the_chart_is_that_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    package = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert package
    assert chart["appVersion"] == package[1]


def test_the_dashboard_is_json() -> None:
    found: dict[str, Any] = msgspec.json.decode(
        Path(CHART / "files" / "dashboard.json").read_bytes()
    )
    assert len({each["id"] for each in found["panels"]}) == len(found["panels"]) > 0
