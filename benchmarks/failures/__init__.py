"""GPU time lost to failures and maintenance."""
