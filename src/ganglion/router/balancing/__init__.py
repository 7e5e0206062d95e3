"""Which service and which replica a request goes to, and what is counted of it. No sockets."""
