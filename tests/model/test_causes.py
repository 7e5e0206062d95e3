"""Causes: every kind has its sentence, and sentences of earlier versions are understood."""

import pytest

from ganglion.model.causes import (
    Cause,
    CauseKind,
    CordonKind,
    Standing,
    cancels,
    sentence,
    suspends,
)
from ganglion.model.causes.former import cause_of, cordon_of

K = CauseKind
GANG, NODES = "b-1/0", ("n1", "n2")
SENTENCES = {
    Cause(K.PREEMPTED, gang=GANG): "preempted for b-1/0",
    Cause(K.RECLAIMED, gang=GANG): "reclaimed for b-1/0",
    Cause(K.RECLAIMED_BORROWING, gang=GANG): "reclaimed while borrowing for b-1/0",
    Cause(K.SHARED, gang=GANG): "shared for b-1/0",
    Cause(K.MOVED, gang=GANG): "moved for b-1/0",
    Cause(K.RECALLED, gang=GANG): "recalled for b-1/0",
    Cause(K.CLEARED, gang=GANG): "cleared for b-1/0",
    Cause(K.YIELDED, gang=GANG): "yielded for b-1/0",
    Cause(K.MOVED_FOR_BOOKING, name="repair", text="new fan"): "moved for repair (new fan)",
    Cause(K.EMPTIED, name="n1"): "moved to empty node n1",
    Cause(K.DEVICES_GONE, devices=(("n1", (0, 3)), ("n2", (2,)))): (
        "lost GPU 0, 3 of n1; GPU 2 of n2: the node came back without what it held"
    ),
    Cause(K.PODS_LOST, nodes=NODES): "lost n1, n2, and there is no place for those pods alone",
    Cause(K.REPAIRED, nodes=NODES): "repaired, as it lost n1, n2",
    Cause(K.FEWER_WANTED): "fewer pods are wanted",
    Cause(K.GROWN): "grown into idle GPUs",
    Cause(K.PODS_ENDED): "pods have ended",
    Cause(K.NODES_CLOSED, nodes=NODES): "closed: n1, n2",
    Cause(K.START_FAILED, text="no such node"): "start failed: no such node",
    Cause(K.HIGHER_PRIORITY): "a higher priority came",
    Cause(K.PLACE_GONE): "its place is gone",
    Cause(K.PLACE_LATE): "its place is not free in time",
    Cause(K.BEYOND_MEANS): "its queue may not have it any more",
    Cause(K.NODES_BOOKED): "its nodes are booked",
    Cause(K.OTHER_TERMS): "it sleeps on other terms",
    Cause(K.BLOCKED, text="it waits for a-1"): "it waits for a-1",
    Cause(K.ESCALATED, number=-5): "escalated from -5",
    Cause(K.CANCELLED, user="ada"): "cancelled by ada",
    Cause(K.RELEASED, because=Cause(K.SCALED, user="ada")): "cancelled: scaled by ada",
    Cause(K.GIVEN_UP, standing=Standing("loss", 0.5, 9, 3, 4, 2)): (
        "stopped early: loss 0.5 at step 9 is place 3 of 4 so far, and the best 2 go on"
    ),
    Cause(K.SUSPENDED, user="ada"): "suspended by ada",
    Cause(K.ASLEEP): "suspended: it sleeps until there is a request",
    Cause(K.IDLE, text="idle for 30 min"): "suspended: idle for 30 min",
    Cause(K.BUDGET_SPENT, name="team"): "suspended: the budget of queue team is spent",
    Cause(K.RESUMED, user="ada"): "resumed by ada",
    Cause(K.ADDRESS_OPENED): "resumed: its address was opened",
    Cause(K.OWN_PRIORITY): "it has started and has its own priority again",
    Cause(K.PART_TAKEN, gang=GANG): "b-1/0 takes its part, as it finds no place",
    Cause(K.WOKEN, gang=GANG): "woken for b-1/0",
    Cause(K.SCALED, user="ada"): "scaled by ada",
    Cause(K.LOAD, text="requests 12: 4 replicas"): "requests 12: 4 replicas",
    Cause(K.SCALED_DOWN): "scaled down",
    Cause(K.FEWER_STAND_BY): "fewer stand by",
    Cause(K.MODEL_UPDATED, text="m/4", user="ada"): "updated to m/4 by ada",
    Cause(K.POLICY_APPLIED): "applied",
    Cause(K.POLICY_OF_SERVER): "started with the server",
    Cause(K.POLICY_ROLLED_BACK, number=3): "rolled back to 3",
    Cause(K.POLICY_BUILT_IN): "built in",
    Cause(K.OTHER, text="in haste"): "in haste",
}
TAGS = {K.BLOCKED: "start_planned", K.LOAD: "service_scaled"}


def test_every_kind_of_cause_has_a_sentence() -> None:
    assert {cause: sentence(cause) for cause in SENTENCES} == SENTENCES
    assert {cause.kind for cause in SENTENCES} == set(CauseKind)


def test_a_field_that_is_not_set_leaves_its_words_out() -> None:
    bare = [Cause(K.PREEMPTED), Cause(K.CANCELLED), Cause(K.MOVED_FOR_BOOKING, name="drain-n1")]
    assert list(map(sentence, bare)) == ["preempted", "cancelled", "moved for drain-n1"]
    assert sentence(None) == ""


WRITTEN = [each for each in SENTENCES if each.kind is not K.BUDGET_SPENT]
"""Kinds of which an earlier version wrote the sentence in place of the cause."""


@pytest.mark.parametrize("cause", WRITTEN, ids=lambda cause: cause.kind.value)
def test_a_sentence_of_an_earlier_version_is_the_cause_that_it_meant(cause: Cause) -> None:
    assert cause_of(sentence(cause), TAGS.get(cause.kind, "")) == cause


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("cancel it", K.CANCELLED),
        ("suspended for the night", K.SUSPENDED),
        ("stopped early, it is of no use", K.GIVEN_UP),
        ("preempted by hand", K.OTHER),
        ("moved by hand", K.MOVED),
        ("stopped early: loss none at step 9 is place 3 of 4 so far, and the best 2 go on", None),
    ],
)
def test_no_word_of_an_unknown_sentence_is_lost(text: str, kind: CauseKind | None) -> None:
    found = cause_of(text)
    assert found is not None
    assert (sentence(found), found.kind) == (text, kind or K.GIVEN_UP)
    assert cancels(found) is text.startswith(("cancel", "stopped early"))
    assert suspends(found) is text.startswith("suspend")


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("quarantined, as it was lost again and again", CordonKind.QUARANTINE),
        ("draining: new fan", CordonKind.DRAIN),
        ("spare: kept free for gangs that lose a node", CordonKind.SPARE),
        ("new fan", CordonKind.PERSON),
        ("", None),
    ],
)
def test_the_reason_of_an_earlier_cordon_says_whose_it_was(
    reason: str, kind: CordonKind | None
) -> None:
    assert cordon_of(reason) is kind
    assert cordon_of(reason, CordonKind.PERSON) is (CordonKind.PERSON if reason else None)
