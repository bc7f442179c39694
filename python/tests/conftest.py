"""Fixtures and constants of the tests."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from forks import Forks

os.environ.setdefault("CPU", "1")
os.environ.setdefault("DEV", "CPU")
# tinygrad's cache of machine code, which records do not depend on
os.environ.setdefault("CACHEDB", str(pathlib.Path(__file__).resolve().parents[2] / "build/python/tinygrad.db"))

import tgc
from tgc.export.versions import installed_version

pytest_plugins = ["pytester"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = installed_version() or ""

PROGRAM = """
from tinygrad import Tensor, TinyJit
(Tensor.empty(8, 8) @ Tensor.empty(8, 8)).relu().realize()
Tensor.empty(4, 6).softmax().realize()
@TinyJit
def step(x): return (x * 2 + 1).realize()
for i in range(4): step(Tensor.full((4,), i).contiguous().realize())
"""
SHORT = "from tinygrad import Tensor\n(Tensor.empty(3, 5) + 1).sum(0).realize()\n"


@pytest.fixture(scope="session")
def recording() -> tgc.Recording:
  from tinygrad import Tensor
  a, b = Tensor.rand(8, 8).realize(), Tensor.rand(8, 8).realize()
  with tgc.record(name="two") as made:
    (a @ b).relu().realize()
    Tensor.empty(4, 6).softmax().realize()
  return made


@pytest.fixture(scope="session")
def kernel(recording: tgc.Recording) -> tgc.Kernel: return recording.kernels[0]


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
  """Returns the process whose forks run the programs of the tests."""
  made = Forks(sys.executable, {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PARALLEL": "0"})
  yield made
  made.close()


Export = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def export(tmp_path: pathlib.Path, forks: Forks) -> Export:
  """Returns a function that runs the exporter in a folder with prog.py and short.py: in a fork, or with `fresh` or
  variables in a process that loads tinygrad."""
  (tmp_path / "prog.py").write_text(PROGRAM)
  (tmp_path / "short.py").write_text(SHORT)
  def run(*words: str, text: str | None = None, code: int = 0, fresh: bool = False, **variables: str) -> subprocess.CompletedProcess[str]:
    command, environment = ["-m", "tgc.export", *words], {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    if fresh or variables:
      done = subprocess.run([sys.executable, *command], cwd=tmp_path, input=text, capture_output=True, text=True, env=environment, check=False)
    else: done = forks.run(*command, cwd=tmp_path, environment=environment, text=text)
    assert done.returncode == code, done.stderr
    return done
  return run
