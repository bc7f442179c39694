"""Finds the tensors and lists that a jitted function can reach besides its own variables and its inputs.

Searches the function's closure, globals and arguments, the objects, lists and dicts there, and the program's functions
that it calls. A comparison of searches before and after the capture shows what the function rebinds, which replays
skip.
"""
from __future__ import annotations

import inspect
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tgc.export.kinds import JSON, Function

MAX_OBJECTS, MAX_DEPTH = 10000, 8
OPAQUE = (type, types.ModuleType, weakref.ref)
SEARCHED_MODULES = ("tinygrad.nn", "tinygrad.apps", "tinygrad.llm")  # their objects are searched like the program's


def code_names(code: types.CodeType) -> list[str]:
  return [*code.co_names, *(n for c in code.co_consts if isinstance(c, types.CodeType) for n in code_names(c))]


def belongs_to_program(x: Any) -> bool:
  module = getattr(x, "__module__", None) or ""
  return not module.startswith("tinygrad.") or module.startswith(SEARCHED_MODULES)


def outer_variables(function: Any) -> JSON:
  function = inspect.unwrap(getattr(function, "__func__", function))
  code: types.CodeType | None = getattr(function, "__code__", None)
  out: JSON = {}
  if code is None: return out
  for name, cell in zip(code.co_freevars, function.__closure__ or ()):
    try: out[name] = cell.cell_contents
    except ValueError: pass
  for name in code_names(code):
    if name in function.__globals__: out.setdefault(name, function.__globals__[name])
  return out


def children_of(path: str, x: Any) -> list[tuple[str, Any]]:
  """Returns (path, object) of what the search visits next: items or attributes of an object of the program, the
  function of a TinyJit, and outer variables of functions and methods."""
  if isinstance(x, dict): return [(f"{path}[{k!r}]", v) for k, v in x.items() if isinstance(k, (str, int))]
  if isinstance(x, (list, tuple)): return [(f"{path}[{i}]", v) for i, v in enumerate(x)]
  if not belongs_to_program(type(x)) and hasattr(x, "fxn"): x = x.fxn
  if isinstance(x, (types.FunctionType, types.MethodType)):
    return [*(outer_variables(x).items() if belongs_to_program(x) else ()), *((path, s) for s in (getattr(x, "__self__", None),) if s)]
  own = getattr(x, "__dict__", None)
  if not isinstance(own, dict) or not belongs_to_program(type(x)): return []
  methods = [m for m in vars(type(x)).values() if isinstance(m, types.FunctionType)]
  return [*((f"{path}.{k}", v) for k, v in own.items()), *(v for m in methods for v in outer_variables(m).items())]


class ReachableTensors:
  """The tensors and lists that are reachable now. Holds weak references: a tensor kept alive changes the capture."""

  def __init__(self, function: Any, args: JSON, inputs: Iterable[Any], is_tensor: Callable[[Any], bool], state_of: Function) -> None:
    """`state_of(tensor)`: (number of its buffer, whether it is computed)."""
    self.tensors: dict[str, tuple[Any, Any]] = {}
    self.lists: dict[str, int] = {}
    todo = [(name, x, 0) for name, x in [*outer_variables(function).items(), *args.items()]]
    seen = {id(t) for t in inputs}
    for path, x, depth in todo:
      if id(x) in seen or isinstance(x, OPAQUE): continue
      seen.add(id(x))
      if is_tensor(x):
        self.tensors.setdefault(path, (weakref.ref(x), state_of(x)))
        continue
      if isinstance(x, list): self.lists.setdefault(path, len(x))
      if depth < MAX_DEPTH and len(todo) < MAX_OBJECTS: todo += [(p, child, depth + 1) for p, child in children_of(path, x)]

  def rebound_tensors(self, after: ReachableTensors, assigned: Sequence[Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yields (path, state before, state after) of tensors that were rebound, or got another buffer other than by an
    assignment. `assigned`: the tensors that were assigned to."""
    for path, (tensor, now) in after.tensors.items():
      before, was = self.tensors.get(path, (None, now))
      if was == now: continue
      if before() is tensor():
        is_computed, was_computed = now[1], was[1]
        if not was_computed or any(t is tensor() for t in assigned) or (assigned and not is_computed): continue
      yield path, was, now

  def grown_lists(self, after: ReachableTensors) -> list[str]:
    return [path for path, size in after.lists.items() if size > self.lists.get(path, size)]

  def lists_with(self, is_read: Callable[[Any], bool]) -> set[str]:
    """Returns the paths of lists that hold, at any depth, a tensor that is_read() accepts."""
    read = [path for path, (tensor, _) in self.tensors.items() if (t := tensor()) is not None and is_read(t)]
    return {path for path in self.lists if any(r.startswith(f"{path}[") for r in read)}

  def list_sizes(self, paths: Iterable[str]) -> dict[str, str]: return {path: f"list of {self.lists[path]}" for path in paths if path in self.lists}
