"""The demo: small real programs, the files that submit them; `story` shows them at work."""
