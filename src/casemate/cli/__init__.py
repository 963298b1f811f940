"""The command line: `casemate COMMAND`. Exit statuses are in `status`; one file for each command."""

from casemate.cli.main import main

__all__ = ["main"]
