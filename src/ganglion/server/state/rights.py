"""Grants and tokens as the events so far have made them."""

from msgspec import Struct, field

from ganglion.model.events import (
    Event,
    QueueRemoved,
    RoleGranted,
    RoleRevoked,
    TokenCreated,
    TokenRevoked,
)

Key = tuple[str, str, str]
"""Subject, role and queue of a grant."""


class AccessRights(Struct):
    """Grants and tokens. A change makes new tables, so that readers keep the ones they have.

    Attributes:
        grants: by subject, role and queue.
        tokens: those that were not revoked, by their ids.
    """

    grants: dict[Key, RoleGranted] = field(default_factory=dict)
    tokens: dict[str, TokenCreated] = field(default_factory=dict)

    def note(self, event: Event) -> None:
        """Take an event in; a queue that is removed takes the grants on it along."""
        match event:
            case RoleGranted(subject=subject, role=role, queue=queue):
                self.grants = {**self.grants, (subject, role, queue): event}
            case RoleRevoked(subject=subject, role=role, queue=queue):
                gone = (subject, role, queue)
                self.grants = {key: each for key, each in self.grants.items() if key != gone}
            case TokenCreated(token=token):
                self.tokens = {**self.tokens, token: event}
            case TokenRevoked(token=token):
                self.tokens = {key: each for key, each in self.tokens.items() if key != token}
            case QueueRemoved(name=name):
                if any(queue == name for _, _, queue in self.grants):
                    self.grants = {k: each for k, each in self.grants.items() if k[2] != name}
