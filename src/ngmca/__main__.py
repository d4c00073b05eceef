"""The command as a module: ``python -m ngmca``."""

from ngmca.cli import main

if __name__ == "__main__":
    main()
