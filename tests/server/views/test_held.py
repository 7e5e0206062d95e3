"""What nodes had of a model is said of a gang that was placed there."""

import msgspec

from ganglion.engine.explain.foretell import foretell
from ganglion.ledger import codec
from ganglion.model.events import GangPlaced
from ganglion.server.views.cluster import explanation
from ganglion.server.views.workloads import placement_view
from tests.engine.build import node, state_of, submit
from tests.engine.placement.test_held import HELD, SAVED, chat

SAID = f"n2 holds hf://org/llama@abc: about {SAVED} s saved"


def test_why_a_view_and_the_ledger_say_what_was_saved() -> None:
    state = state_of(node("n1"), node("n2", holds=HELD))
    would = foretell(state, chat(), 1).verdict.placement
    assert would
    assert [str(each) for each in would.held] == [SAID]
    plan = submit(state, chat())
    assert explanation(state, "chat/0", 2).text == (f"chat/0 does not wait: it is starting; {SAID}")
    shown = placement_view(state.gangs.records["chat/0"].placement)
    assert shown
    assert [str(each) for each in shown.held] == [SAID]
    (event,) = (each for each in plan.decisions if isinstance(each, GangPlaced))
    assert b'"held"' in (body := msgspec.json.encode(event))
    assert codec.decoded(body) == event
