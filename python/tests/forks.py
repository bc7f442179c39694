"""Runs Python programs in forks of a process that has loaded tinygrad and compiled kernels, which takes most of the
time of a short program.

  forks.py    is the process that forks; it reads jobs from its standard input

"""
from __future__ import annotations

import atexit
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any

PACKAGE = str(pathlib.Path(__file__).resolve().parents[1])


class Forks:
  """The process that forks. Runs one program at a time."""

  def __init__(self, python: str, environment: Mapping[str, str]) -> None:
    self.lock = threading.Lock()
    self.process = subprocess.Popen([python, __file__], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

  def run(self, *words: str, cwd: pathlib.Path, environment: Mapping[str, str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs `python WORDS...`. Variables that tinygrad reads when it is loaded have the values with which the
    forking process started."""
    assert self.process.stdin and self.process.stdout
    with tempfile.TemporaryDirectory() as folder:
      files = [pathlib.Path(folder, name) for name in ("in", "out", "err")]
      files[0].write_text(text or "")
      job = {"words": words, "cwd": str(cwd), "environment": dict(environment), "files": list(map(str, files))}
      with self.lock:
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
      return subprocess.CompletedProcess(words, code, files[1].read_text(), files[2].read_text())

  def close(self) -> None:
    self.process.communicate()


def compile_kernels() -> None:
  """Compiles kernels of shapes that no program has, on the device NULL: this starts no thread, and a fork lacks the
  other threads of its process."""
  from tinygrad import Tensor
  (Tensor.empty(37, 41, device="NULL") @ Tensor.empty(41, 43, device="NULL")).relu().softmax().realize()
  import tinygrad.runtime.ops_cpu  # noqa: F401


def exit_code(program: Callable[[], object]) -> int:
  """Returns a program's exit code; prints an exception as Python does."""
  try: program()
  except SystemExit as e:
    if e.code is None or isinstance(e.code, int): return e.code or 0
    print(e.code, file=sys.stderr)
    return 1
  except BaseException: traceback.print_exc()  # noqa: BLE001
  else: return 0
  return 1


def leave(code: int) -> None:
  """Ends this process as Python does, but without freeing its objects, which takes long."""
  wait_for_threads: Any = threading
  wait_for_threads._shutdown()
  atexit._run_exitfuncs()
  sys.stdout.flush()
  sys.stderr.flush()
  os._exit(code)


def main() -> None:
  sys.path[0] = PACKAGE
  import numpy  # noqa: F401
  from tgc.export.processes import run_program
  with contextlib.suppress(ImportError): import pytest  # noqa: F401, I001
  compile_kernels()
  for line in iter(sys.stdin.readline, ""):
    job = json.loads(line)
    if (child := os.fork()) == 0: break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
  else: return
  os.chdir(job["cwd"])
  for number, file in enumerate(job["files"]): os.dup2(os.open(file, os.O_RDWR | os.O_CREAT), number)
  os.environ.clear()
  os.environ.update(job["environment"])
  leave(exit_code(lambda: run_program(job["words"])))


if __name__ == "__main__": main()
