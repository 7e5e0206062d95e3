"""What services have to do, and how callers reach them."""
