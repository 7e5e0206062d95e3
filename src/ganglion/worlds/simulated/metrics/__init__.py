"""What a run is judged by, collected while it goes, in bounded memory."""
