from __future__ import annotations

import contextlib
import functools
import gc
import importlib.util
import os
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from tgc.export.kinds import JSON


@contextlib.contextmanager
def replaced_attribute(owner: Any, name: str, value: Any) -> Iterator[None]:
  old = getattr(owner, name)
  setattr(owner, name, value)
  try: yield
  finally: setattr(owner, name, old)


undo: list[Callable[[], None]] = []


matchers: list[dict[str, Any]] = []


def restore_all() -> None:
  matchers.clear()
  while undo: undo.pop()()
  matchers.clear()


def matcher_globals() -> list[dict[str, Any]]:
  """Returns the globals of tinygrad's compiled matchers. A matcher copies the functions that its rule calls when the
  rule is first used, so a replacement in the rule's module does not reach the copies."""
  if not matchers:
    compiled = (f.__globals__ for f in gc.get_objects() if type(f) is types.FunctionType and "__name__" not in f.__globals__)
    matchers.extend({id(g): g for g in compiled}.values())
  return matchers


def set_attribute(owner: Any, name: str, value: Any) -> None:
  """Sets an attribute of a module or a class until restore_all()."""
  own = name in vars(owner)
  old = vars(owner).get(name)
  setattr(owner, name, value)
  undo.append(lambda: setattr(owner, name, old) if own else delattr(owner, name))


def replace_everywhere(old: Any, new: Any) -> None:
  """Replaces a function in all loaded modules of tinygrad, under any name, and in the compiled matchers, until
  restore_all()."""
  def swap(old: Any, new: Any) -> None:
    modules = [vars(m) for name, m in sys.modules.items() if name.split(".")[0] == "tinygrad" and m is not None]
    for names in [*modules, *matcher_globals()]:
      for name, value in list(names.items()):
        if value is old: names[name] = new
  swap(old, new)
  undo.append(lambda: swap(new, old))


def call_on_import(name: str, callback: Callable[[Any], object]) -> None:
  """Calls callback(module) once the named module is loaded: now, or when the program imports it."""
  if name in sys.modules:
    callback(sys.modules[name])
    return
  class Finder:
    @staticmethod
    def find_spec(wanted: str, path: Any = None, target: Any = None) -> Any:
      if wanted != name: return None
      sys.meta_path.remove(Finder)
      spec = importlib.util.find_spec(name)
      if spec is None or spec.loader is None: return spec
      load = spec.loader.exec_module
      def load_and_call(module: Any) -> None:
        load(module)
        if module.__name__ == name: callback(module)  # pytest has one loader for several modules
      vars(spec.loader)["exec_module"] = load_and_call
      return spec
  sys.meta_path.insert(0, Finder)
  undo.append(lambda: sys.meta_path.remove(Finder) if Finder in sys.meta_path else None)


def called_by_runtime() -> bool:
  """Returns True if tinygrad's runtime compiles a kernel of its own."""
  frame: types.FrameType | None = sys._getframe(1)
  while frame:
    module = frame.f_globals.get("__name__") or "tinygrad.uop"  # compiled matchers have no name
    if not module.startswith(("tgc.", "tinygrad.codegen", "tinygrad.uop", "contextlib")):
      return module.startswith("tinygrad.runtime.")
    frame = frame.f_back
  return False


def call_site() -> JSON:
  """Returns the (up to) two innermost running lines of tinygrad outside tinygrad.uop, innermost first, and the function
  of the first."""
  frame: types.FrameType | None = sys._getframe(1)
  lines: list[str] = []
  function = None
  while frame and len(lines) < 2:
    name = frame.f_globals.get("__name__") or "tinygrad.uop"
    if name.startswith("tinygrad.") and not name.startswith("tinygrad.uop"):
      code = frame.f_code
      file = code.co_filename.replace(os.sep, "/").split("/tinygrad/")[-1]
      lines.append(f"{file}:{frame.f_lineno}")
      function = function or f"{file}:{code.co_firstlineno}"
    frame = frame.f_back
  return {"at": lines, "function": function} if lines else {}


PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
# Files that run as __main__ if the package is not installed: beside the package, or in scripts of a checkout.
COMMANDS = [os.path.join(os.path.dirname(PACKAGE), "tinygrad_export.py"),
            os.path.join(os.path.dirname(os.path.dirname(PACKAGE)), "scripts", "tinygrad_export.py")]


@functools.cache
def is_own_file(file: str) -> bool:
  if file.startswith("<"): return False
  file = os.path.realpath(file)
  package = getattr(sys.modules.get("tinygrad"), "__file__", None)
  return file.startswith(PACKAGE + os.sep) or file in COMMANDS or (package is not None and file.startswith(os.path.dirname(os.path.realpath(package)) + os.sep))


def program_lines(limit: int = 8) -> list[str]:
  """Returns FILE:LINE::FUNCTION of the innermost stack frames outside tinygrad, tgc and the standard library, at most
  `limit`.
  """
  frame: types.FrameType | None = sys._getframe(1)
  out: list[str] = []
  while frame and len(out) < limit:
    name = frame.f_globals.get("__name__") or "tinygrad"
    module = name.split(".")[0]
    if module == "tgc" and frame.f_code.co_name == "run_program": break
    if name in ("multiprocessing.spawn", "multiprocessing.forkserver"): break  # started this process with -c
    if module not in ("tinygrad", "tgc", "tinygrad_export") and module not in sys.stdlib_module_names and \
       not is_own_file(frame.f_code.co_filename):
      out.append(f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}::{frame.f_code.co_name}")
    frame = frame.f_back
  return out


def program_call() -> tuple[str, str]:
  """Returns the first of program_lines(), and the name of the outermost public function of tinygrad that this line
  calls ("step", "rand"); "" if there is none. Skips the module tinygrad.nn and sequential()."""
  line = program_line()
  frame: types.FrameType | None = sys._getframe(2)
  function = ""
  while frame and line and f":{frame.f_lineno}::{frame.f_code.co_name}" not in line:
    name, module = frame.f_code.co_name, frame.f_globals.get("__name__") or ""
    if module.startswith("tinygrad.") and module != "tinygrad.nn" and not name.startswith(("_", "<")) and name != "sequential": function = name
    frame = frame.f_back
  return line, function


def program_line() -> str:
  return next(iter(program_lines(1)), "")
