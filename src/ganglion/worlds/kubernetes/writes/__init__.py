"""What is written to a cluster; every call is safe to repeat after a crash at any point."""
