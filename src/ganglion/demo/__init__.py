"""The demo: small real programs, the files that submit them, and the show around them."""
