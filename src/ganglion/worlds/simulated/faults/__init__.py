"""What goes wrong in a simulated cluster, and how reports get lost, doubled and late."""
