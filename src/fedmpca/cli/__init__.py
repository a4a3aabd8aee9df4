"""What is typed at a terminal: each command reads files, calls one function of the library, writes what it gives.

Results go to standard output or to `-o`, progress and warnings to standard error. Imports everything, but heavy things
only inside the commands, so that help and refusals come at once. Begin reading at ``main.py``; a command is a file.
"""

from fedmpca.cli.main import main

__all__ = ["main"]
