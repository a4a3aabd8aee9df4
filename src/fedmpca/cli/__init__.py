"""What is typed at a terminal: each command reads files, calls one function of the library, writes what it gives.

Results go to standard output or to `-o`, progress and warnings to standard error. Imports everything, what
only one command needs inside that command. Begin reading at ``main.py``; a command is a file.
"""

from fedmpca.cli.main import main

__all__ = ["main"]
