"""`python -m ablate`: the same as the console script `ablate`."""

from ablate.cli.main import main

if __name__ == "__main__":
    main()
