"""`python tests/fuzz SECONDS [TARGET ...]`: see driver.py."""

import sys

from driver import main

sys.exit(main())
