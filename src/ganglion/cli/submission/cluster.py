"""`ganglion submit --context`: the notes on a cluster, and what a dry run prints."""

import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ganglion.cli.connection.contexts import ChosenCluster
from ganglion.cli.output.screen import note, out
from ganglion.cli.output.tables import print_data, yaml_text
from ganglion.cli.submission.documents import Submission, freely_named
from ganglion.cli.submission.plan import FITS, print_verdicts
from ganglion.cli.submission.submitting import AfterSubmit, carry_out
from ganglion.client.workload_client import NoScheduler
from ganglion.model.errors import FieldError
from ganglion.specs.wording import noted
from ganglion.worlds.kubernetes.submit.manifests.checks import check, unheeded
from ganglion.worlds.kubernetes.submit.manifests.pod import Manifest
from ganglion.worlds.kubernetes.submit.manifests.shape import gangs
from ganglion.worlds.kubernetes.submit.places import title

if TYPE_CHECKING:
    from ganglion.cli.cluster.client import ClusterClient


def carry_out_in(where: ChosenCluster, jobs: Sequence[Submission], mode: AfterSubmit) -> int:
    """Try or submit jobs in a cluster and return the exit code."""
    with where.open(30.0) as client:
        for warning in _checked(client, jobs):
            note(f"Warning: {warning}")
        if mode.dry_run:
            return _rehearse(client, jobs, mode.form)
        return carry_out(client, jobs, mode._replace(where=where.flags))


def _checked(client: "ClusterClient", jobs: Sequence[Submission]) -> list[str]:
    """Return what the cluster does not do with jobs that it takes, one sentence each.

    Raises:
        FieldError: it cannot take some of them; with all that is wrong, of every job.
    """
    warnings: list[str] = []
    problems: list[FieldError] = []
    for job in jobs:
        found = _missing_secrets(job)
        workload = noted(partial(client.understood, job.document), found)
        if workload:
            noted(partial(check, workload, gangs(workload)), found)
            warnings += unheeded(workload)
        name = str(job.document.get("name", "")) if len(jobs) > 1 else ""
        problems += (
            FieldError(each.problem, key=each.key, file=each.file or name, hint=each.hint)
            for each in found
        )
    if problems:
        raise problems[0].among(problems[1:])
    return warnings


def _missing_secrets(job: Submission) -> list[FieldError]:
    """Return the secrets whose values the shell does not have: a cluster is given every value."""
    return [
        FieldError(
            f"the variable {name} is not set in your shell",
            key="secrets",
            hint=f"`export {name}=...` first",
        )
        for name, value in job.document.get("secrets", {}).items()
        if value is None
    ]


def _rehearse(client: "ClusterClient", jobs: Sequence[Submission], form: str) -> int:
    """Print the objects; or have the cluster check them, and the scheduler say where they go.

    Returns:
        the exit code of a dry run; 0 where no scheduler can be asked, and the cluster takes them.
    """
    documents = [freely_named(client, job) for job in jobs]
    found = [each for document in documents for each in client.manifests(document)]
    if form == "yaml":
        sys.stdout.write("---\n".join(yaml_text(each) for each in found))
    elif form == "json":
        print_data({"apiVersion": "v1", "kind": "List", "items": found}, form)
    else:
        for document in documents:
            client.rehearse(document)
        _say(found)
        try:
            return print_verdicts(client, documents, form, "turn")
        except NoScheduler as error:
            note(f"{error.message}: {error.hint}")
    return FITS


def _say(found: Sequence[Manifest]) -> None:
    out().print("the cluster would take:")
    for each in found:
        out().print(f"  {title(each)}")
