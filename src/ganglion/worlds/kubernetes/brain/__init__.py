"""From what a cluster shows to what the engine hears, and from its plans to what is written."""
