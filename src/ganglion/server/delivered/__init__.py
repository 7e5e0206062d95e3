"""What schedulers of clusters deliver: taken in once and in order, and shown when it is over."""
