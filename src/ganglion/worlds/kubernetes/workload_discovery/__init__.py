"""Which pods of a cluster belong together, whatever kind of object made them."""
