"""What every route relies on: sockets, callers, paths, problems, pages, entity tags."""
