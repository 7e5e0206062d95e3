"""Verbs for many workloads of a cluster: the cluster takes them one by one."""

import time
from collections.abc import Sequence
from typing import Unpack

from ganglion.api.bulk import BulkAnswer, Refusal
from ganglion.client.filters import Filters
from ganglion.client.workload_client import WorkloadClient
from ganglion.model.errors import GanglionError, StateError


class OneByOne:
    """Answers as `ganglion.client.calls.bulk.Bulk` does.

    Args:
        cluster: where the workloads are.
    """

    def __init__(self, cluster: WorkloadClient) -> None:
        self._cluster = cluster

    def cancel(
        self,
        refs: Sequence[str] = (),
        *,
        everything: bool = False,
        dry_run: bool = False,
        force: bool = False,
        **filters: Unpack[Filters],
    ) -> BulkAnswer:
        """Stop workloads: gently, or at once with `force`."""
        answer = BulkAnswer(time.time_ns() // 1_000_000, 0, 0, 0)
        found = dict.fromkeys(refs)
        if everything or filters:
            found |= dict.fromkeys(each.id for each in self._cluster.workloads(**filters).items)
        answer.matched = len(found)
        if dry_run:
            return self._previewed(answer, list(found), refs)
        done, problems = list[str](), list[Refusal]()
        for ref in found:
            try:
                self._cluster.cancel(ref, force=force)
                done.append(ref)
            except StateError as error:
                problems.append(_refusal(ref, error))
        answer.done, answer.refused = len(done), len(problems)
        answer.workloads, answer.problems = tuple(done), tuple(problems)
        return answer

    def _previewed(self, answer: BulkAnswer, found: list[str], refs: Sequence[str]) -> BulkAnswer:
        """Say which references are only the beginning of a name."""
        answer.workloads = tuple(found)
        if refs:
            known = [each.id for each in self._cluster.workloads(ended=True).items]
            for ref in refs:
                name, slash, index = ref.partition("/")
                fitting = [each for each in known if each.startswith(name)]
                if name not in known and len(fitting) == 1:
                    answer.prefixes = {**answer.prefixes, ref: fitting[0] + slash + index}
        return answer


def _refusal(ref: str, error: GanglionError) -> Refusal:
    return Refusal(ref, error.code, error.message, error.hint)
