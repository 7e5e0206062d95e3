"""What happened to a gang between its submission and its end, kept with it. Imports the model."""
