"""The `amrita-fleet` command, also reachable as `python -m amrita_fleet`."""


def main() -> None:
    """Run the command line."""
    from .runtime.cli import main as cli

    cli()


if __name__ == "__main__":
    main()
