"""Lines and returns of a rule's function that instances run. An error in a line that no instance runs is not noticed,
so the search prefers instances that run further lines."""
from __future__ import annotations

import dis
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tgc.export.general_rules import without_cache
from tgc.export.kinds import Function

ENTRY = {"RESUME", "NOP", "MAKE_CELL", "COPY_FREE_VARS"}  # instructions of a function's first line
RETURN_NONE = {"LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "POP_TOP", "NOP"}


def functions_below(function: Function) -> list[Any]:
  """Returns the function and, if it is a lambda, the global functions that it names, with the caches that wrap them;
  [] if it is not written in Python."""
  code = getattr(without_cache(function), "__code__", None)
  if code is None: return []
  if code.co_name != "<lambda>": return [function]
  return [function, *[f for name in code.co_names if isinstance(without_cache(f := function.__globals__.get(name)), types.FunctionType)]]


class LineTarget(NamedTuple):
  """A line of a function, or one of the `return`s in it: `a if b else c` has two. `offset`: of the return's
  instruction; -1: the line.
  """
  file: str
  line: int
  offset: int


def targets_of(code: types.CodeType) -> set[LineTarget]:
  """Returns the lines and returns of a function, without those that only enter it, return None or raise an error."""
  of_line: dict[int, list[dis.Instruction]] = {}
  line, before, out = code.co_firstlineno, None, set()
  starts = {offset: n for offset, _, n in code.co_lines() if n}
  for one in dis.get_instructions(code):
    line = starts.get(one.offset, line)
    of_line.setdefault(line, []).append(one)
    is_none = before is not None and before.opname == "LOAD_CONST" and before.argval is None
    if one.opname == "RETURN_VALUE" and not is_none: out.add(LineTarget(code.co_filename, line, one.offset))
    before = one
  def refuses(instructions: list[dis.Instruction]) -> bool:
    names = {one.opname for one in instructions}
    constants = [one.argval for one in instructions if one.opname in ("LOAD_CONST", "RETURN_CONST")]
    return names <= ENTRY or "RAISE_VARARGS" in names or (names <= RETURN_NONE and constants == [None] * len(constants))
  return out | {LineTarget(code.co_filename, n, -1) for n, instructions in of_line.items() if not refuses(instructions)}


class RuleLines:
  """The lines and returns of the functions of one or more rules, and which of them did not run yet."""

  def __init__(self, functions: Iterable[Function]) -> None:
    below = [f for function in functions for f in functions_below(function) if without_cache(f).__module__ == function.__module__]
    self.stored = list({id(f): f for f in below}.values())
    self.codes = {plain.__code__: plain for f in self.stored for plain in [without_cache(f)]}
    self.unreached = {target for code in self.codes for target in targets_of(code)}
    self.is_simple = sum(t.offset >= 0 for t in self.unreached) < 2  # the functions return results in at most one place

  def run(self, apply: Callable[[], object]) -> set[LineTarget]:
    """Calls `apply`, and returns the lines and returns that it runs. Removes them from `unreached`."""
    ran: set[LineTarget] = set()
    def of_line(frame: Any, event: str, _: object) -> Any:
      if event in ("line", "return"): ran.add(LineTarget(frame.f_code.co_filename, frame.f_lineno, -1 if event == "line" else frame.f_lasti))
      return of_line
    for f in self.stored:
      if f is not without_cache(f): f.cache_clear()  # otherwise the function would not run again
    previous = sys.gettrace()
    sys.settrace(lambda frame, *_: of_line if frame.f_code in self.codes else None)
    try: apply()
    finally:
      sys.settrace(previous)
      self.unreached -= ran
    return ran

  def text(self) -> str:
    """Returns the numbers of the lines that did not run, such as "66-70,75"."""
    out: list[list[int]] = []
    for n in sorted({t.line for t in self.unreached}):
      if out and n == out[-1][1] + 1: out[-1][1] = n
      else: out.append([n, n])
    return ",".join(f"{a}-{b}" if a < b else f"{a}" for a, b in out)
