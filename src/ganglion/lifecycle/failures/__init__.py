"""What becomes of work when nodes, GPUs or programs fail."""
