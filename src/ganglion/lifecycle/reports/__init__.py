"""What running programs say of themselves: checkpoints, metrics, whether they are busy."""
