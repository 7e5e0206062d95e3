"""Questions about a past that was otherwise."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ganglion.api.whatif.report import WhatIf, WhatIfPage
from ganglion.seams.clock import SYSTEM_CLOCK, Clock

if TYPE_CHECKING:
    from ganglion.client.http import Http

OVER = ("done", "failed")
POLL_S = 0.5


class WhatIfs:
    """Part of `Client`; every method raises what its methods raise.

    Args:
        http: the connection.
    """

    def __init__(self, http: "Http") -> None:
        self._http = http

    def ask(
        self,
        *,
        since: str = "7d",
        until: str = "",
        policy: str = "",
        file: str = "",
        nodes: Sequence[str] = (),
        queues: Sequence[str] = (),
        prices: Sequence[str] = (),
        workload: Mapping[str, Any] | None = None,
        at: str = "",
        cluster: str = "",
        rules: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> WhatIf:
        """Ask what would have happened; a process of the server answers.

        Args:
            since: begin of the past, as `7d` ago or a date.
            until: its end; empty = now.
            policy: text of a policy file; empty = as it was.
            file: what errors call it.
            nodes: that join or leave, as `+4xH100:8` or `-2xH100`.
            queues: settings of queues, as `research=quota:H100:16`.
            prices: of a GPU-hour, as `H100=2.50`.
            workload: a workload file that is submitted.
            at: when it is.
            cluster: whose past it is; empty = that of the server's own nodes.
            rules: name of a queue -> all its rules, as a policy file has them.
        """
        body: dict[str, Any] = {"since": since, "until": until, "at": at, "workload": workload}
        body["cluster"] = cluster
        body |= {"nodes": [*nodes], "queues": [*queues], "prices": [*prices]}
        if rules:
            body["rules"] = {name: dict(each) for name, each in rules.items()}
        if policy:
            body["policy"] = {"text": policy, "file": file}
        return self._http.call("POST", "/whatif", WhatIf, body=body)

    def list(self) -> tuple[WhatIf, ...]:
        """List questions without their answers, the newest first."""
        return self._http.call("GET", "/whatif", WhatIfPage).items

    def show(self, key: str) -> WhatIf:
        """Return a question with its answer, or how far it is."""
        return self._http.call("GET", f"/whatif/{quote(key, safe='')}", WhatIf)

    def wait(
        self,
        key: str,
        progress: Callable[[WhatIf], None] = lambda _: None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> WhatIf:
        """Wait until a question is answered, or failed.

        Args:
            key: its id.
            progress: called with how far it is.
            clock: to wait by.
        """
        while (found := self.show(key)).state not in OVER:
            progress(found)
            clock.sleep(POLL_S)
        return found
