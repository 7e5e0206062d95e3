"""Why gangs wait, and for how long they have waited for what."""
