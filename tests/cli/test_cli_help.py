"""The help: every command and option is explained, and every example in it runs."""

import re
import shlex

import click
import pytest
from command_runs import run

import fedmpca as fm
from fedmpca.cli import main

COMMANDS = sorted(main.commands)


def shown(*names):
    code, out, err = run(*names, "--help")
    assert (code, err) == (0, "")
    return out


def examples(text):
    """The lines of a help's last part, below "Example:", that are commands."""
    below = re.search(r"\n  Example:\n((?:    .*\n)+)", text)
    assert below, text
    return [line.strip() for line in below[1].replace("\\\n", " ").splitlines()]


def commands(group, *before):
    """Every command with the words that name it, those of groups too."""
    for name, command in sorted(group.commands.items()):
        yield (*before, name), command
        if isinstance(command, click.Group):
            yield from commands(command, *before, name)


ALL = dict(commands(main))
EXAMPLES = {names: examples(shown(*names)) for names, command in ALL.items() if not isinstance(command, click.Group)}


def test_the_commands_are_those_of_this_version():
    assert COMMANDS == ["agree", "demo", "fit", "identity", "inspect", "simulate"]
    for name in COMMANDS:
        assert re.search(rf"^  {name}  +\S", shown(), re.MULTILINE)


@pytest.mark.parametrize("names", ALL, ids=" ".join)
def test_every_command_and_option_is_explained(names):
    command = ALL[names]
    assert shown(*names) == run(*names, "-h")[1]
    assert command.help.strip()
    for option in command.params:
        assert isinstance(option, click.Argument) or option.help, option.name


def test_exit_codes_are_explained():
    assert [int(code) for code in re.findall(r"^    (\d+)  +\w", shown(), re.MULTILINE)] == [0, 1, 2, 130]


def test_the_version_is_the_package_s():
    assert run("--version") == (0, f"fedmpca {fm.__version__}\n", "")


@pytest.mark.parametrize("names", EXAMPLES, ids=" ".join)
def test_examples_are_of_their_command(names):
    assert EXAMPLES[names]
    assert any(line.startswith(f"fedmpca {' '.join(names)} ") for line in EXAMPLES[names])


def give(line):
    code, out, err = run(*shlex.split(line)[1:])
    assert (code, err) == (0, ""), line
    assert out


def test_examples_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("simulate", "fit", "agree", "inspect"):
        for line in EXAMPLES[name,]:
            give(line)
    made = {"plates", "plates.fedmpca", "joined.fedmpca", "agreement.toml", "coordinator", "north", "south", "west"}
    assert {path.name for path in tmp_path.iterdir()} == made
    assert len(fm.load_fleet(tmp_path / "plates" / "test")) == 100


@pytest.mark.slow
def test_the_demo_of_the_examples_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = {*examples(shown()), *EXAMPLES["demo",]}
    assert len(lines) == 2
    for line in lines:
        give(line)
        (tmp_path / "demo" / "mpca.png").unlink()
