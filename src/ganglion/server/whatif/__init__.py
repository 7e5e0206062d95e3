"""Questions about a past that was otherwise: kept, and answered by a process of low priority."""
