"""Writes command-line.md from the help of the commands, so that the two cannot differ; a test compares them."""

from pathlib import Path

import click

from fedmpca.cli import main

PAGE = Path(__file__).with_name("command-line.md")
WIDTH = 88
INTRODUCTION = """\
# Command line

This page is made from the commands' own help by `docs/reference/make_command_line.py`; a test compares the two.
`fedmpca COMMAND --help` shows the same at a terminal. Where a command takes a FLEET or a MODEL, see
[file formats](file-formats.md).
"""


def page() -> str:
    """The whole page."""
    top = click.Context(main, info_name="fedmpca", terminal_width=WIDTH, **main.context_settings)
    return "\n".join([INTRODUCTION, *_sections(top)])


def _sections(context: click.Context) -> list[str]:
    """A command's section, and those of the commands below it."""
    command = context.command
    below = command.commands.items() if isinstance(command, click.Group) else ()
    contexts = [click.Context(each, parent=context, info_name=name) for name, each in below]
    return [_section(context), *(section for each in contexts for section in _sections(each))]


def _section(context: click.Context) -> str:
    return f"## {context.command_path}\n\n```text\n{context.get_help()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
