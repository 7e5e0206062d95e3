"""Questions of a server to this scheduler: fetched by a poll, answered in threads of their own."""
