"""The command as processes of their own: exit codes, the two outputs, Ctrl-C, and readers that go away."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time

import pytest
from command_runs import done, ended, started, tree
from matplotlib.image import imread

import fedmpca as fm


@pytest.fixture(scope="module")
def plates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes") / "plates"
    done("simulate", "--out", folder, "--members", "6", "--assets", "6")
    return folder


WITHOUT_PYPLOT = """
import atexit, os, sys
atexit.register(lambda: "matplotlib.pyplot" in sys.modules and os._exit(99))
"""


def test_demo_prints_a_table_and_writes_a_picture_while_fleets_are_made_and_fitted(tmp_path):
    demo = started("demo", "--quick", "--out", tmp_path / "new" / "demo", code=WITHOUT_PYPLOT)
    simulated_and_fitted(tmp_path)
    code, out, err = ended(demo)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[1].startswith("user-1 (25 plates), user-2 (10 plates), user-3 (5 plates). They fit MPCA under")
    rounds = re.findall(r"^round +\d+  (.*?)(?:  +captured .*)?$", out, re.MULTILINE)
    assert rounds[:3] == ["mean", "initial scatters", "sweep 1, mode 0"]
    fitted = fm.MPCA(ranks=(3, 3, 3)).fit(fm.simulate_fleet(50, rng=0)[:40])
    assert f"keep {100 * fitted.captured_ratio_:.2f} % of the variation" in out
    angle, change = re.search(r"largest principal angle (\S+), captured scatter (\S+)\.\n", out).groups()
    assert float(angle) < 1e-7  # the third directions are noise, and close to the others
    assert float(change) < 1e-13
    assert "under masks shared with each other" in out
    picture = tmp_path / "new" / "demo" / "mpca.png"
    assert lines[-1].startswith(f"{picture} shows streams")
    assert imread(picture).shape[1] == 1350
    assert tree(tmp_path / "new") == [str(picture.parent), str(picture)]


def simulated_and_fitted(folder):
    code, out, err = ended(started("simulate", "--out", folder / "plates", "--members", "6,4", "--assets", "12"))
    assert (code, err) == (0, "")
    assert len(out.splitlines()) == 5
    model = folder / "model"
    code, out, err = ended(started("fit", folder / "plates" / "user-1", "-o", model, "--ranks", "2,2,2", "--json"))
    assert (code, err, json.loads(out)["ranks"]) == (0, "", [2, 2, 2])
    assert fm.load(model).ranks_ == (2, 2, 2)


def test_exit_codes_and_no_traceback(plates, tmp_path):
    (tmp_path / "damaged").write_bytes(b"PK")
    refused = started("inspect", tmp_path / "damaged")
    unknown = started("fit", plates / "user-1", "-o", tmp_path / "new", "--ranks", "two")
    code, out, err = ended(refused)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"Error: {tmp_path / 'damaged'} is no model file, or was cut short")
    code, out, err = ended(unknown)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("Error: Invalid value for '--ranks': 'two' should be whole numbers")
    assert os.listdir(tmp_path) == ["damaged"]


# Ctrl-C

# The moment at which something is written, made long: the process says that it has come, and waits there.
PAUSED = """
import os, sys, time
def pause(*arguments):
    print("writing now", file=sys.stderr, flush=True)
    time.sleep(100)
os.{function} = pause
"""


def test_ctrl_c_while_writing_leaves_nothing(plates, tmp_path):
    fm.save(fm.MPCA(ranks=(1,)).fit([[1.0], [2.0]]), tmp_path / "model")
    before = tree(tmp_path), (tmp_path / "model").read_bytes()
    running = [
        started("fit", plates / "user-1", "-o", tmp_path / "model", code=PAUSED.format(function="fsync")),
        started("simulate", "--out", tmp_path / "a" / "b", "--members", 2, code=PAUSED.format(function="replace")),
    ]
    for process in running:
        assert process.stderr.readline() == "writing now\n"
        assert tree(tmp_path) != before[0]
        process.send_signal(signal.SIGINT)
        assert ended(process) == (130, "", "Interrupted: nothing half-written was left.\n")
        if process is running[0]:
            assert (tmp_path / "model").read_bytes() == before[1]
    assert tree(tmp_path) == before[0]


def read_until(descriptor, wanted):
    """Wait until a terminal has shown what is wanted."""
    shown, end = b"", time.monotonic() + 60
    while wanted not in shown and time.monotonic() < end:
        if select.select([descriptor], [], [], 1)[0]:
            shown += os.read(descriptor, 65536)
    assert wanted in shown


def test_a_person_sees_progress_and_can_stop_it(plates, tmp_path):
    screen, terminal = os.openpty()
    endless = ("--ranks", "2,2,2", "--tol", "0", "--max-iter", str(10**9))
    code = "import os; os.environ.update(TERM='xterm', COLUMNS='100'); os.environ.pop('NO_COLOR', None)\n"
    process = started("fit", plates / "user-1", "-o", tmp_path / "new", *endless, code=code, stderr=terminal)
    os.close(terminal)
    try:
        read_until(screen, b"sweep ")
        process.send_signal(signal.SIGINT)
        read_until(screen, b"Interrupted: nothing half-written was left.")
        assert (process.wait(60), process.stdout.read()) == (130, "")
    finally:
        process.kill()
        process.communicate()
        os.close(screen)
    assert os.listdir(tmp_path) == []


# Readers that go away


def test_a_reader_that_has_had_enough_is_no_error_to_tell(plates):
    reader, writer = os.pipe()
    os.close(reader)
    gone = started("inspect", plates / "user-1", stdout=writer)
    os.close(writer)
    command = f'"{sys.executable}" -m fedmpca inspect "{plates}/user-1" --json | head -1'
    enough = subprocess.Popen(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert ended(gone) == (1, None, "")  # who reads no more wants to hear no more
    assert ended(enough)[1:] == ("{\n", "")


@pytest.mark.slow
def test_a_full_disk_behind_standard_output_is_one_line(plates):
    with open("/dev/full", "w") as full:
        code, _, err = ended(started("inspect", plates / "user-1", stdout=full))
    said = "Error: No space left on device. Check the path, its permissions, and the space that is left.\n"
    assert (code, err) == (1, said)


@pytest.mark.slow
def test_a_path_that_is_no_text_can_be_printed(tmp_path):
    folder = os.fsencode(tmp_path) + b"/\xff"
    strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    arguments = ("simulate", "--out", os.fsdecode(folder), "--members", 2, "--assets", 2)
    code, out, err = ended(started(*arguments, env=strict))
    assert (code, err) == (0, "")
    assert "\ufffd/user-1" in out
    assert os.listdir(folder) == [b"user-1"]
