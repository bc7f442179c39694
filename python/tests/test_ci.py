"""Tests of the steps of a CI job, in a repository made for them; and that actions, workflows and lists of packages pin
what they use."""
from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from conftest import RELEASE, ROOT
from tgc import ci

Step = Callable[..., int]
OLD = "from tinygrad import Tensor\n(Tensor.empty(6, 6) @ Tensor.empty(6, 6)).relu().realize()\nTensor.empty(5, 4).sum(0).realize()\n"
NEW = OLD.replace("relu()", "exp()")


def git(*words: str) -> None:
  names = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
  subprocess.run(["git", *words], check=True, capture_output=True, env={**os.environ, **names})


@pytest.fixture
def repository(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
  """Makes a repository with the branch main, and the branch change, whose commit changes no kernel."""
  folder = tmp_path / "repository"
  folder.mkdir()
  monkeypatch.chdir(folder)
  git("init", "-q", "-b", "main")
  pathlib.Path("prog.py").write_text(OLD)
  git("add", "-A")
  git("commit", "-qm", "one")
  git("checkout", "-qb", "change")
  pathlib.Path("note").write_text("a note\n")
  git("add", "-A")
  git("commit", "-qm", "two")
  for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"): monkeypatch.setenv(name, str(tmp_path / name))
  for name, value in (("TGC_BASE", "main"), ("TGC_COMMAND", "python prog.py"), ("GITHUB_ACTIONS", "true")): monkeypatch.setenv(name, value)
  monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))
  return tmp_path


def test_texts_of_recordings_are_no_markdown() -> None:
  assert ci.cell("![x](https://e) <img src=x>|a\nb") == r"\!\[x\]\(https\://e\) \<img src=x\>\|a b"
  assert ci.cell("www.e.org") == r"www\.e\.org"
  assert ci.code_span("a`b") == "`` a`b ``"
  assert ci.code_span("a|b") == r"`a\|b`"
  assert ci.cell("a\r\nb\u2028c\x1b]0;t") == ci.cell("a b c ]0;t")
  assert ci.code_span("a\rb") == "`a b`"
  assert ci.fenced_block("a\n````\n![x](https://e)") == ["`````", "a\n````\n![x](https://e)", "`````"]


def test_supply_chain_is_pinned() -> None:
  workflows = [ROOT / "action.yml", *sorted((ROOT / ".github/workflows").glob("*.yml"))]
  assert len(workflows) > 3
  for path in workflows:
    text = path.read_text()
    for used in re.findall(r"uses: *(.*)", text): assert re.fullmatch(r"actions/[a-z/-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", used), (path, used)
    assert path.name == "action.yml" or re.search(r"^permissions: *\{(contents: read)?\}$", text, re.MULTILINE), path
  requirements = [line for line in (ROOT / "packaging/requirements.txt").read_text().splitlines() if not line.startswith("#")]
  assert all(re.fullmatch(r"[\w-]+==[\d.]+( --hash=sha256:[0-9a-f]{64})+", line) for line in requirements), requirements
  lock = json.loads((ROOT / "editors/vscode/package-lock.json").read_text())["packages"]
  package = json.loads((ROOT / "editors/vscode/package.json").read_text())
  assert lock.pop("")["dependencies"] == package["dependencies"]
  for name, entry in lock.items():
    assert re.fullmatch(r"sha512-[\w+/]{86}==", entry["integrity"]), name
    for needed in entry.get("dependencies", {}): assert f"node_modules/{needed}" in lock, (name, needed)


def test_base_comes_from_the_base(repository: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
  for folder in (".tgc", "here"):  # the change has a file where the step looks for a cached recording
    planted = pathlib.Path(folder, "base", "base.jsonl.gz")
    planted.parent.mkdir(parents=True)
    planted.write_text("planted\n")
    git("add", "-f", str(planted))
    git("commit", "-qm", "planted")
    assert ci.main(["base", "--folder", folder]) == 2
    assert "the commit has files in" in capfd.readouterr().err


def test_unchanged_and_changed(repository: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
  assert [ci.main([step]) for step in ("sha", "base", "head", "compare")] == [0, 0, 0, 0]
  summary, output = (repository / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"))
  assert "No kernel and no schedule differs" in summary.read_text()
  assert "differs=false" in output.read_text()
  assert "sha=" + ci.git("rev-parse", "main") in output.read_text()
  assert pathlib.Path(".tgc/page.html").stat().st_size > 10000
  summary.unlink()
  pathlib.Path("prog.py").write_text(NEW)
  git("commit", "-qam", "three")
  assert ci.main(["base"]) == 0
  assert "is there already" in capfd.readouterr().out
  assert ci.main(["head"]) == 0
  assert ci.main(["compare"]) == 1
  text = summary.read_text()
  assert "### Kernels" in text
  assert "1 the same, 1 different" in text or "1 different" in text
  assert "| `run." in text
  assert "EXP2" in text
  assert "differs=true" in output.read_text()
  assert ci.main(["compare", "--fail-on=never"]) == 0
  assert ci.main(["compare", "--fail-on=sources"]) == 1
  assert "worktree" not in ci.git("worktree", "list", "--porcelain").replace("worktree " + str(pathlib.Path.cwd()), "")


def test_command_that_fails_is_recorded(repository: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
  pathlib.Path("prog.py").write_text(OLD + "raise SystemExit(1)\n")
  assert ci.main(["head"]) == 0
  assert "ended with exit code 1" in capfd.readouterr().err
  assert pathlib.Path(".tgc/head/head.jsonl.gz").exists()


def test_troubles(repository: pathlib.Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
  assert ci.main(["sha", "--base=no-such-branch"]) == 2
  assert "no-such-branch" in capfd.readouterr().err
  assert ci.main(["head", "--command=python -c pass"]) == 2
  assert "compiled nothing" in capfd.readouterr().err
  monkeypatch.delenv("TGC_COMMAND")
  assert ci.main(["head"]) == 2
  assert "there is no command" in capfd.readouterr().err


def test_commands() -> None:
  assert ci.program_of("python3 -m prog 'a b'") == ["-m", "prog", "a b"]
  assert ci.program_of("pytest -q test") == ["-m", "pytest", "-q", "test"]


def test_summary_without_github(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
  monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
  ci.append_to_github_file("GITHUB_STEP_SUMMARY", "a summary")
  assert "a summary" in capsys.readouterr().out


@pytest.mark.skipif(RELEASE != "0.12.0", reason="the port of the test is tinygrad 0.12.0")
def test_conform(repository: pathlib.Path) -> None:
  goldens = f"{ROOT}/testdata/golden/kernels.jsonl.gz#bert_mini.31"
  port = f"{sys.executable} {ROOT}/scripts/tests/conform_tinygrad.py"
  assert ci.main(["conform", f"--goldens={goldens}", f"--command={port}"]) == 0
  assert "conforms" in (repository / "GITHUB_STEP_SUMMARY").read_text()
  wrong = """python3 -c 'import sys
for line in sys.stdin: print("{\\"error\\":\\"no\\"}", flush=True)'"""
  assert ci.main(["conform", f"--goldens={goldens}", f"--command={wrong}"]) in (1, 2)
