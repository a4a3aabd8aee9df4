"""The documentation is true: its code runs and prints what it says, its links and names lead to something.

A page's blocks run in their order, with one namespace and one folder for the page. Where a block shows output, that
output is compared (``...`` stands for anything). ``<!-- not run: reason -->`` before a block exempts it.
"""

import ast
import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
import shlex
import socket
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import pytest
from click.testing import CliRunner

import fedmpca as fm
import fedmpca.report
from fedmpca.cli import main

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), *DOCS]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^(?P<not_run><!-- not run: [^\n]+ -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)


class Block(NamedTuple):
    language: str
    text: str
    line: int
    is_run: bool


def name(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page):
    text = page.read_text(encoding="utf-8")
    found = [
        Block(fence["language"], fence["text"], text[: fence.start("text")].count("\n"), fence["not_run"] is None)
        for fence in FENCE.finditer(text)
    ]
    assert 2 * len(found) == len(re.findall("^ *```", text, re.M)), f"{page}: a fence is not seen"
    return found


def prose(page):
    """The page without its blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


# Code


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name)
def test_code_of_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", no_connection)
    monkeypatch.setattr(socket, "getaddrinfo", no_connection)
    namespace = {"__name__": "page"}
    for block in blocks(page):
        where = f"{name(page)}:{block.line + 1}"
        if block.language in ("python", "pycon") and block.is_run:
            run_python(block, where, namespace)
        elif block.language == "console" and block.is_run:
            run_console(block.text, where)


def no_connection(*address):
    raise AssertionError(f"the package opens no connection, and asked for {address}")


def run_python(block, where, namespace):
    if block.language == "python":
        exec(compile("\n" * block.line + block.text, where, "exec"), namespace)
        return
    session = doctest.DocTestParser().get_doctest(block.text, namespace, where, where, block.line)
    session.globs = namespace
    run_session(session, clear_globs=False)


def run_session(session, **how):
    said = []
    failed, _ = doctest.DocTestRunner(optionflags=FLAGS).run(session, out=said.append, **how)
    assert not failed, "".join(said)


def run_console(text, where):
    """Each `$ fedmpca ...` in order; what is shown below it is what it prints."""
    for part in re.split(r"^\$ ", text.replace("\\\n", ""), flags=re.M)[1:]:
        line, _, expected = part.partition("\n")
        if line.startswith("fedmpca "):
            run_command(line, expected, where)


def run_command(line, expected="", where="help"):
    result = CliRunner().invoke(main, shlex.split(line)[1:], prog_name="fedmpca")
    assert result.exit_code == (1 if "Error:" in expected else 0), f"{where}: {line}\n{result.output}"
    if expected:
        agrees = doctest.OutputChecker().check_output(expected, result.output, FLAGS)
        assert agrees, f"{where}: {line}\nprints\n{result.output}"


def modules_with_examples():
    files = [path for path in (ROOT / "src").rglob("*.py") if ">>>" in path.read_text(encoding="utf-8")]
    return sorted(".".join(path.relative_to(ROOT / "src").with_suffix("").parts) for path in files)


@pytest.mark.parametrize("module", modules_with_examples())
def test_examples_of_the_docstrings_run(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sessions = [found for found in doctest.DocTestFinder().find(importlib.import_module(module)) if found.examples]
    assert sessions, "an example that no docstring has"
    for session in sessions:
        run_session(session)


# Links and names


def slug(heading):
    """What GitHub makes of a heading's text."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page):
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", prose(page), re.M)}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.is_relative_to(ROOT), target
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), target


def test_every_page_is_reached_from_the_front():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            links = [(page.parent / path).resolve() for path in re.findall(r"\]\(([^)#\s]+\.md)", prose(page))]
            waiting += [link for link in links if link.is_relative_to(ROOT)]
    assert set(DOCS) <= reached


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_tests_and_functions_named_exist(page):
    for path, _, test in re.findall(r"`((?:src|tests|docs|benchmarks)/[\w/.\-]+)(::(\w+))?`", prose(page)):
        assert (ROOT / path).exists(), path
        if test:
            assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path}::{test}"
    for dotted in re.findall(r"`(fedmpca(?:\.\w+)+)`", prose(page)):
        pkgutil.resolve_name(dotted)


# The reference


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/reference/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_command_line_reference_is_what_the_help_says():
    """But for spaces: where lines are broken is the business of click's version."""
    page = (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8")
    assert "".join(page.split()) == "".join(script("make_command_line").page().split()), (
        "write it anew with `make docs`"
    )


def test_every_command_is_in_the_reference():
    page = ROOT / "docs/reference/command-line.md"
    assert {f"fedmpca-{command}" for command in main.commands} <= anchors(page)
    text = page.read_text(encoding="utf-8")
    for command in main.commands.values():
        for option in command.params:
            assert isinstance(option, click.Argument) or option.opts[-1] in text, option.opts


def public():
    """What the library reference has to show, by the name that a user types."""
    things = {f"fm.{thing}": getattr(fm, thing) for thing in fm.__all__ if callable(getattr(fm, thing))}
    things["fm.Federation.in_process"] = fm.Federation.in_process  # which makes one: its constructor is not public
    del things["fm.Federation"]
    things["fedmpca.report.mpca_figure"] = fedmpca.report.mpca_figure
    for kind in (fm.Fleet, fm.MPCA, fm.Federation):
        for member, value in vars(kind).items():
            # scikit-learn adds set_fit_request by itself; in_process is above, and `run` is the estimators' own door
            if not member.startswith(("_", "set_")) and member not in ("in_process", "run"):
                things[f".{member}"] = value
    return things


def signature(thing):
    """(a, b=1, *, c=None), without types."""
    shown = inspect.signature(thing)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in shown.parameters.values()]
    bare = [parameter for parameter in bare if parameter.name != "self"]
    return str(shown.replace(parameters=bare, return_annotation=inspect.Signature.empty))


@pytest.mark.parametrize("named", public())
def test_library_reference_shows_the_signature(named):
    page = " ".join((ROOT / "docs/reference/library.md").read_text(encoding="utf-8").split())
    thing = public()[named]
    assert (f"{named}{signature(thing)}" if callable(thing) else f"`{named[1:]}`") in page


def test_library_reference_names_what_is_learnt_and_known():
    page = (ROOT / "docs/reference/library.md").read_text(encoding="utf-8")
    mpca = fm.MPCA(ranks=(1, 1)).fit(np.random.default_rng(0).normal(size=(5, 3, 4)))
    learnt = [attribute for attribute in vars(mpca) if attribute.endswith("_")]
    fleet = list(vars(fm.Fleet(np.zeros((2, 3, 4)))))
    for attribute in [*learnt, "disclosures_", *fleet, *fm.__all__]:
        assert f"{attribute}`" in page, attribute


def test_library_reference_lists_the_errors_that_there_are():
    section = (ROOT / "docs/reference/library.md").read_text(encoding="utf-8").partition("\n## errors\n")[2]
    assert set(re.findall(r"`(\w+(?:Error|Warning))`", section)) - {"ValueError"} - {"ConvergenceWarning"} == set(
        fm.errors.__all__
    )


# What a page says of all sources


def test_nothing_is_imported_or_called_that_the_security_page_rules_out():
    """No code in files, no network, no logs."""
    ruled_out = {"pickle", "marshal", "shelve", "socket", "urllib", "http", "requests", "logging", "subprocess"}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not ruled_out & {module.partition(".")[0] for module in modules}, f"{path}:{node.lineno}"
            if isinstance(node, ast.Call):
                called = node.func.id if isinstance(node.func, ast.Name) else ""
                assert called not in ("eval", "exec", "print"), f"{path}:{node.lineno}"
                unpickles = [word for word in node.keywords if word.arg == "allow_pickle" and word.value.value]
                assert not unpickles, f"{path}:{node.lineno}"


# Numbers that stand in a page and in a source


def test_speed_page_shows_the_cases_that_are_measured():
    spec = importlib.util.spec_from_file_location("cases", ROOT / "benchmarks/cases.py")
    cases = importlib.util.module_from_spec(spec)
    __import__("sys").modules["cases"] = cases
    spec.loader.exec_module(cases)
    page = (ROOT / "docs/explanation/speed.md").read_text(encoding="utf-8")
    for case in cases.CASES.values():
        shape, ranks = " x ".join(map(str, case.shape)), " x ".join(map(str, case.ranks))
        assert f"| {case.name} | {case.n_assets} | {shape} | {ranks} | {case.dtype} |" in page
