"""`python -m mobench`."""

import sys

from mobench.cli import main

if __name__ == "__main__":
    sys.exit(main())
