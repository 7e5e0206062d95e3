"""Names of people: their pseudonyms in the chain, and how they are erased."""
