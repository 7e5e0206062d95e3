"""What GPUs and other devices a node offers, from its labels and resources."""
