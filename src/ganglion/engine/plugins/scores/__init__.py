"""Score plugins that come with the engine."""
