"""What gangs hold, how events change it, and changes that are tried and taken back."""
