"""How often callers may try: passwords, tokens, what is costly."""
