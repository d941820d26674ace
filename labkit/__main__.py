"""`python -m labkit`: the command line where no script is installed."""

from labkit.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
