"""Which server or cluster a command speaks to; may import `cluster` and `output`."""
