"""Places outside of the results folder where finished runs are shown too: one module each."""
