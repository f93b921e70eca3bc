"""The suites: one YAML file each."""
