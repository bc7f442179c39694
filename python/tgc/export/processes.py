from __future__ import annotations

import atexit
import json
import os
import pathlib
import runpy
import shutil
import signal
import sys
import tempfile
import types
import zipfile
from typing import Any

from tgc.export.golden import print_message
from tgc.export.kinds import JSON
from tgc.export.recorder import Recorder

OPTIONS_VARIABLE = "TGC_EXPORT"


def record_children(options: JSON) -> str:
  """Makes the Python processes that the program starts record as well, through a sitecustomize module that runs before
  their own. Returns the folder of that module."""
  folder = tempfile.mkdtemp(prefix="tgc_export.")
  pathlib.Path(folder, "sitecustomize.py").write_text(f"""import json, os, sys
home = {str(pathlib.Path(__file__).resolve().parents[2])!r}
sys.path.insert(0, home)
import tgc.export.start
tgc.export.start.start_recording(json.loads(os.environ[{OPTIONS_VARIABLE!r}]), is_child=True)
sys.path.remove(home)
sys.path.remove({folder!r})
mine = sys.modules.pop("sitecustomize")
try: import sitecustomize  # the process's own
except ImportError: sys.modules["sitecustomize"] = mine
""")
  os.environ[OPTIONS_VARIABLE] = json.dumps({**options, "output": os.path.abspath(options["output"])})
  os.environ["PYTHONPATH"] = os.pathsep.join([folder] + [p for p in [os.environ.get("PYTHONPATH")] if p])
  return folder


def program_name(command: list[str]) -> str:
  """Returns the prefix of record ids: the name of the script or module; for a test runner, of what it runs; "code" for
  -c, "stdin" for -."""
  if command[0] in ("-", "-c"): return "stdin" if command[0] == "-" else "code"
  is_module, words = command[0] == "-m", command[1:] if command[0] == "-m" else command
  if is_module and words[0] in ("unittest", "pytest"): words = [w for w in words[1:] if not w.startswith("-")] or words
  # leave out values of options, such as that of -p PLUGIN
  words = [w for w in words if os.path.exists(w.split("::")[0])] or words
  name = words[0].split("::")[0]
  is_dotted = is_module and "/" not in name and not name.endswith(".py")
  return name.rsplit(".", 1)[-1] if is_dotted else pathlib.Path(name).stem


def run_program(command: list[str]) -> None:
  main = types.ModuleType("__main__")
  functions: Any = runpy  # runpy's types lack its private functions
  run_code, run_module = functions._run_code, functions._run_module_as_main
  vars(main)["__builtins__"] = __builtins__
  sys.modules["__main__"] = main
  def run(source: Any, file: str, path: str | None = None) -> None:
    run_code(compile(source, file, "exec"), main.__dict__, mod_name="__main__", script_name=path)
  kind = command[0]
  if kind == "-m":
    sys.argv, sys.path[0] = command[1:], os.getcwd()
    run_module(command[1])
  elif kind == "-c":
    sys.argv, sys.path[0] = ["-c", *command[2:]], ""
    run(command[1], "<string>")
  elif kind == "-":
    sys.argv, sys.path[0] = command, ""
    run(sys.stdin.buffer.read(), "<stdin>")
  elif os.path.isdir(kind) or zipfile.is_zipfile(kind):
    sys.argv = command
    runpy.run_path(kind, run_name="__main__")
  else:
    sys.argv, sys.path[0] = command, os.path.dirname(os.path.realpath(kind))
    run(pathlib.Path(kind).read_bytes(), kind, kind)


def finish(recorder: Recorder) -> bool:
  """Merges the files and prints how many records each holds. Returns True if there is a file."""
  counts = recorder.writer.merge_parts()
  for path, count in counts.items(): print_message(f"{path}: {count} records")
  recorder.finish()
  if recorder.failures: print_message(f"{recorder.failures} could not be recorded")
  if not counts: print_message("nothing was compiled")
  return bool(counts)


def finish_at_exit(recorder: Recorder, folder: str) -> None:
  """Runs finish() once at the end of the program, also after SIGTERM and os._exit. Removes `folder` (record_children).
  """
  leave, main, done = os._exit, os.getpid(), False
  def finish_once() -> bool:
    nonlocal done
    if done or os.getpid() != main: return True
    done = True
    shutil.rmtree(folder, ignore_errors=True)
    return finish(recorder)
  def on_sigterm(_signal: int, _frame: Any) -> None:
    print_message("the program was terminated (SIGTERM) before its end; the recording ends there, too")
    finish_once()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)
  def exit_now(code: int) -> None:
    finish_once()
    leave(code)
  def at_exit() -> None:  # registered before the program's own handlers, so it runs after them
    if finish_once(): return
    sys.stdout.flush()
    sys.stderr.flush()
    leave(2)
  signal.signal(signal.SIGTERM, on_sigterm)
  setattr(os, "_exit", exit_now)  # noqa: B010, a type checker knows that os._exit does not return
  atexit.register(at_exit)
