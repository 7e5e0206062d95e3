"""What programs that act for a user call: a Model Context Protocol server over stdin and stdout."""
