"""Questions about the past of a cluster: what may be asked, and by whom."""

from pathlib import Path
from typing import Any

from ganglion.identity.roles import Role
from ganglion.server.delivered.receive import receive
from ganglion.server.whatif.questions import WhatIfQuestions
from tests.server.access.office import API, office
from tests.server.conftest import Rig
from tests.server.delivered.stories import begun, submitted, turns


def test_a_question_about_a_cluster_is_taken_where_the_server_can_know_the_answer(
    rig: Rig, tmp_path: Path
) -> None:
    records = turns((begun(1_000), []), ([submitted(2_000, "train")], []))
    rig.do(lambda draft: receive(draft, "east", "s1", records))
    questions = WhatIfQuestions(tmp_path / "home", rig.home.ledger)
    rig.service.start()
    with office(rig, questions=questions) as staff:
        team = staff.user("tim", Role.VIEWER, "east:team")
        other = staff.user("olga", Role.VIEWER, "west:")

        def ask(client: Any, **question: Any) -> tuple[int, str]:
            answer = client.post(f"{API}/whatif", json={"cluster": "east", **question})
            return answer.status_code, answer.text

        assert ask(other)[0] == 404
        assert ask(staff.owner, cluster="west")[0] == 404
        job = {"name": "x", "run": "true"}
        code, text = ask(staff.owner, workload=job, at="1h")
        assert (code, "is known to its scheduler alone" in text) == (422, True)
        assert ask(team)[0] == 202
        assert ask(team, nodes=["+1xH100:8"])[0] == 403  # the policy is none of its business
        code, text = ask(staff.owner, queues=["east:team=weight:2"], nodes=["+1xH100:8"])
        assert code == 202
        words = staff.owner.get(f"{API}/whatif").json()["items"][0]["changes"]
        assert words == ["cluster east", "nodes +1xH100:8", "queue east:team=weight:2"]
    rig.service.stop()
