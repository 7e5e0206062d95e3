"""Writes deploy/: the manifests of the chart with its usual values, for those without Helm.

python -m tools.manifests            write the files; needs Helm
python -m tools.manifests --check    1 = a file is out of date

Helm is looked for in $HELM, where `python -m tools.go_programs helm` keeps it, and on the path.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from tools.go_programs import found

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "charts" / "ganglion"
FOLDER = ROOT / "deploy"
RELEASE = "ganglion"
NAMESPACE = "ganglion-system"
KUBERNETES = "1.33.0"
"""Version that the chart is rendered for; Helm may have been built without one of its own."""

Json = dict[str, Any]

HEAD = "# Generated from charts/ganglion by `python -m tools.manifests`.\n"
HELMS_OWN = ("helm.sh/chart", "app.kubernetes.io/managed-by")
"""Labels that would say that Helm manages the objects."""


def helm() -> str:
    """Path of Helm; empty = it is not there."""
    return found("helm")


def rendered(*values: str, name: str = RELEASE, kubernetes: str = KUBERNETES) -> list[Json]:
    """The objects of the chart, without the custom resource definitions.

    Args:
        values: settings as `replicas=3`, beside the usual values.
        name: of the release.
        kubernetes: version of the cluster.

    Raises:
        subprocess.CalledProcessError: Helm refuses; its words are in `stderr`.
    """
    settings = [part for each in values for part in ("--set", each)]
    command = [helm(), "template", name, str(CHART), "--namespace", NAMESPACE]
    done = subprocess.run(
        [*command, "--kube-version", kubernetes, *settings],
        capture_output=True,
        text=True,
        check=True,
    )
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def pages() -> dict[str, str]:
    """Name -> text of every file of the folder."""
    space: Json = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": NAMESPACE,
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
        },
    }
    definitions = [
        yaml.safe_load(each.read_text("utf-8")) for each in sorted((CHART / "crds").iterdir())
    ]
    return {
        "crds.yaml": _text(definitions),
        "ganglion.yaml": _text([space, *map(_plain, rendered())]),
    }


def _plain(item: Json) -> Json:
    labels = item["metadata"].get("labels", {})
    for each in HELMS_OWN:
        labels.pop(each, None)
    return item


class _Dumper(yaml.SafeDumper):
    """Indents lists, as people do."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - as in yaml
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002 - as in yaml
        return True


def _text(items: Sequence[Json]) -> str:
    dumped = yaml.dump_all(
        items, Dumper=_Dumper, sort_keys=False, width=100, explicit_start=True, allow_unicode=True
    )
    return HEAD + dumped


def stale() -> list[str]:
    """Names of files that are not what this would write."""
    return [
        name
        for name, text in pages().items()
        if not (FOLDER / name).exists() or (FOLDER / name).read_text("utf-8") != text
    ]


def main() -> int:
    """Write or check the files."""
    if not helm():
        print("Helm is not there: python -m tools.go_programs helm", file=sys.stderr)
        return 1
    if "--check" in sys.argv[1:]:
        for name in stale():
            print(f"deploy/{name} is out of date: run this without --check")
        return int(bool(stale()))
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
