"""One file per architecture; the parent package says what a file defines."""
