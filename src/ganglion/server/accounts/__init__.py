"""A shared host: users' Unix accounts, and the helper that starts programs as them."""
