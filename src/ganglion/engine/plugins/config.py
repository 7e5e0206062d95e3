"""What is in force: the policy, and the plugins that it names."""

from ganglion.engine.plugins.builtin import builtin_plugins, check_scores
from ganglion.engine.plugins.protocols import Plugins
from ganglion.model.errors import FieldError, InvariantBroken
from ganglion.model.policy import Policy


class EngineConfig:
    """The policy in force, and plugins.

    Invariant: every Score plugin that the rules of a kind name is built in or loaded.

    Attributes:
        policy: how to decide; replaced when another one is in force.
        plugins: Filter, Score, Permit and Preempt plugins; those the state was made with.
    """

    def __init__(self, policy: Policy | None = None, plugins: Plugins | None = None) -> None:
        self.policy = policy or Policy()
        self.plugins = plugins or builtin_plugins(self.policy)

    def check(self) -> None:
        """Check the invariant. Raises InvariantBroken."""
        for rules in self.policy.kinds.values():
            try:
                check_scores(self.plugins, rules.scores)
            except FieldError as error:
                raise InvariantBroken(error.message) from error
