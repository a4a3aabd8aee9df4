"""``python -m fedmpca`` is the command `fedmpca`."""

from fedmpca.cli import main

if __name__ == "__main__":
    main(prog_name="fedmpca")
