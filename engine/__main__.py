"""The command line: `python -m engine info`, `run`, `check` and `explore`."""

import os
import sys

USAGE = """usage: python -m engine info
       python -m engine run script.py [argument ...]
       python -m engine explore script.py [-o page.html] [argument ...]
       python -m engine check script.py | module.py:Function | module.py:Value [option ...]

info     which build runs, from where and why; versions, BLAS and threads
run      runs a script written for torch, micrograd or a scalar class Value of its own on engine
explore  runs it so, and writes one HTML page that steps through its last backward pass
check    finds the mistakes in custom Functions, ours or torch's, and in scalar classes Value
"""
COMMANDS = ("info", "run", "explore", "check")


def main(arguments: list[str]) -> int:
    """Exit status of one command line; `run` ends with the script's own."""
    match arguments:
        case ["info"]:
            from engine.info import report

            print(report())
            return 0
        case ["run" | "explore" as command, script, *rest] if not script.startswith("-"):
            return run_script(command, script, rest)
        case ["check", *rest]:
            from engine.testing.cli import main as check

            return check(rest)
        case ["-h" | "--help", *_] | [_, "-h" | "--help"]:
            print(USAGE, end="")
            return 0
    if arguments and arguments[0] not in COMMANDS:
        print(f"unknown command {arguments[0]}", file=sys.stderr)
    print(USAGE, end="", file=sys.stderr)
    return 2


def run_script(command: str, script: str, arguments: list[str]) -> int:
    try:
        open(script, "rb").close()
    except OSError as error:
        print(f"engine {command}: cannot open {script!r}: {error.strerror}", file=sys.stderr)
        return 2
    if command == "explore":
        from engine.visualize.exploring import explore_script

        return explore_script(script, arguments)
    from engine.run import run

    run(script, arguments)
    return 0


if __name__ == "__main__":
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # `python -m engine info | head -1`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)
