"""Plain words, and pages that name what there is."""
