"""The problems: one file or folder per family, found because it is there."""
