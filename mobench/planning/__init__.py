"""From a suite file and overrides to run specs."""
