"""The extension points, and the plugins that come with the engine. Imports the model only."""
