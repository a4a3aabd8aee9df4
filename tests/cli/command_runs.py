"""Ways to give the command `fedmpca`: inside this process, and as processes of its own."""

import os
import subprocess
import sys

from click.testing import CliRunner

from fedmpca.cli import main


def run(*arguments):
    """Exit code, standard output and standard error of one command; an exception that escapes it escapes here."""
    words = [str(argument) for argument in arguments]
    result = CliRunner(catch_exceptions=False).invoke(main, words, prog_name="fedmpca")
    return result.exit_code, result.stdout, result.stderr


def done(*arguments):
    """Standard output of a command that does what it is asked, and says nothing else."""
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    return out


def started(*arguments, code=None, **more):
    """A process of the command; `code` is run before it, in the same interpreter."""
    begin = ["-m", "fedmpca"] if code is None else ["-c", code + AS_A_COMMAND]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
    return subprocess.Popen([sys.executable, *begin, *map(str, arguments)], **streams)


def ended(process):
    """Exit code, standard output and standard error of a process."""
    out, err = process.communicate(timeout=100)
    return process.returncode, out, err


AS_A_COMMAND = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore Ctrl-C
runpy.run_module("fedmpca", run_name="__main__", alter_sys=True)
"""


def tree(folder):
    """Every path below a folder, hidden ones too."""
    return sorted(os.path.join(place, name) for place, folders, files in os.walk(folder) for name in folders + files)
