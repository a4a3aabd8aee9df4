"""The command `fedmpca`: its commands, and what happens where one cannot go on."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import click

from fedmpca.cli.agree import agree
from fedmpca.cli.demo import demo
from fedmpca.cli.fit import fit
from fedmpca.cli.identity import identity
from fedmpca.cli.inspect import inspect
from fedmpca.cli.simulate import simulate

__all__ = ["main"]


class Commands(click.Group):
    """A group whose commands end as the help says: 0, 1, 2 or 130, and never with a traceback for what we refuse."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted: nothing half-written was left.", err=True)
            ctx.exit(130)
        except BrokenPipeError:  # the reader of our output has had enough; click knows what to do
            raise
        except Exception as error:
            from fedmpca.errors import FedMPCAError

            if not isinstance(error, FedMPCAError | OSError | MemoryError):
                raise
            raise click.ClickException(_in_one_line(error)) from error


def _in_one_line(error: Exception) -> str:
    """What we refuse says itself what to do; what the system refuses is given a way out."""
    text = " ".join(str(error).splitlines())
    if isinstance(error, MemoryError):
        return f"Not enough memory ({text}): take fewer assets, a smaller --memory-limit, or a larger machine."
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{click.format_filename(error.filename)}: "
        return f"{where}{error.strerror}. Check the path, its permissions, and the space that is left."
    return text


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version("fedmpca"), prog_name="fedmpca", message="%(prog)s %(version)s")
def main() -> None:
    """Multilinear PCA of image streams, for organisations that cannot share their data.

    Results go to standard output or to -o, progress to standard error.

    \b
    Exit codes:
      0    done
      1    refused or failed; one line on standard error says why and what to do
      2    the command was not understood
      130  interrupted by Ctrl-C; nothing half-written is left

    \b
    Example:
      fedmpca demo
    """


for command in (demo, simulate, fit, inspect, identity, agree):
    main.add_command(command)
