"""`ganglion submit --context`: the notes on a cluster, and what a dry run prints."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ganglion.cli.contexts import Where
from ganglion.cli.documents import Job
from ganglion.cli.screen import note, out
from ganglion.cli.submitting import Mode, carry_out
from ganglion.cli.tables import print_data, yaml_text
from ganglion.model.errors import FieldError
from ganglion.worlds.kubernetes.submit.checks import unheeded
from ganglion.worlds.kubernetes.submit.places import title
from ganglion.worlds.kubernetes.submit.pod import Manifest

if TYPE_CHECKING:
    from ganglion.cli.cluster.client import ClusterClient
    from ganglion.client import Client


def carry_out_in(where: Where, jobs: Sequence[Job], mode: Mode) -> int:
    """Try or submit jobs in a cluster and return the exit code."""
    with where.open(30.0) as client:
        for job in jobs:
            _check_secrets(job)
            for warning in unheeded(client.understood(job.document)):
                note(f"Warning: {warning}")
        if mode.dry_run:
            return _rehearse(client, jobs, mode.form)
        # It answers every call that submitting and following make.
        return carry_out(cast("Client", client), jobs, mode._replace(where=where.flags))


def _check_secrets(job: Job) -> None:
    """A cluster is given every value: raises FieldError when the shell does not have one."""
    for name, value in job.document.get("secrets", {}).items():
        if value is None:
            raise FieldError(
                f"the variable {name} is not set in your shell",
                key="secrets",
                hint=f"`export {name}=...` first",
            )


def _rehearse(client: "ClusterClient", jobs: Sequence[Job], form: str) -> int:
    """Print the objects, or have the cluster check them and name them."""
    found = [each for job in jobs for each in client.manifests(job.document)]
    if form == "yaml":
        sys.stdout.write("---\n".join(yaml_text(each) for each in found))
    elif form == "json":
        print_data({"apiVersion": "v1", "kind": "List", "items": found}, form)
    else:
        for job in jobs:
            client.rehearse(job.document)
        _say(found)
    return 0


def _say(found: Sequence[Manifest]) -> None:
    out().print("the cluster would take:")
    for each in found:
        out().print(f"  {title(each)}")
