"""Who asks, whether that is allowed, and what of an answer is not for their eyes."""
