"""What a plugin author sees: methods, problems, objectives, settings, streams, and what a run is."""
