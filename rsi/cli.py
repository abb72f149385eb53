"""The command line: ``rsi --help``. Commands live in `rsi.commands`.

Exit codes: 0 ok (also a night that stays quiet), 1 refused by a gate or a rule, 2 usage, 3 integrity, 75 try again.

Nothing of ours is imported before `main` runs: processes that a command starts load this module as well.
"""

import sys


def main() -> None:
    """Run one command; an error of ours is one line and its exit code."""
    from rsi.commands.app import app
    from rsi.commands.say import line, warn
    from rsi.errors import QuietError, RsiError, TransientError
    from rsi.settings import quiet_dependencies

    quiet_dependencies()
    try:
        app()
    except QuietError as quiet:
        line(str(quiet))
    except RsiError as error:
        warn(f"rsi: {error}")
        sys.exit(error.exit_code)
    except OSError as error:
        what = f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
        warn(f"rsi: {what}; nothing half-written was kept, mend it and run the same command again")
        sys.exit(TransientError.exit_code)
    except KeyboardInterrupt:
        warn("rsi: stopped; run the same command again to go on")
        sys.exit(130)


if __name__ == "__main__":
    main()
