"""Whom a gang may have stopped where queues are compared by share."""
