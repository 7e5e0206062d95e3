"""What nodes hold of a model is printed by `why` and by dry runs."""

import pytest

from ganglion.api.reasons import (
    Explained,
    HeldItem,
    ModelKept,
    Placement,
    PodPlacement,
    Verdict,
    Why,
)
from ganglion.cli.output.explanation import print_why
from ganglion.cli.output.formats import kept
from ganglion.cli.submission.plan import print_verdict

HELD = (HeldItem("n2", "models:/chat/3", 40), HeldItem("n2", "x/serve:1", 2))
LINES = ("n2 holds models:/chat/3: about 40 s saved", "n2 holds x/serve:1: about 2 s saved")


def test_why_and_a_dry_run_say_what_is_saved(capsys: pytest.CaptureFixture[str]) -> None:
    print_why(Why("chat-1", (Explained(gang="chat-1/0", phase="running", held=HELD),)))
    said = capsys.readouterr().out
    assert all(each in said for each in ("Held", *LINES))
    place = Placement((PodPlacement("main", 0, "n2"),), held=HELD)
    print_verdict("chat", Verdict(placement=place))
    said = capsys.readouterr().out
    assert all(each in said for each in LINES)


def test_a_model_on_the_machine_of_the_server_is_one_word_or_how_far_it_is() -> None:
    assert kept(None) == "-"
    assert kept(ModelKept("fetching", 1 << 30, 140 << 30)) == "1Gi of 140Gi"
    assert kept(ModelKept("fetching")) == "fetching"
    assert kept(ModelKept("failed", trouble="HTTP 500")) == "failed"
