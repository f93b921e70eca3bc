"""Templates of the files that `mobench new` writes."""
