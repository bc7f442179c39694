"""Saves the arrays that each kernel reads and stores when it first runs."""
from __future__ import annotations

import contextlib
import functools
import struct
from collections.abc import Callable, Iterable
from typing import Any

from tgc.export.golden import print_message, save_arrays, tagged_path
from tgc.export.hooks import replace_everywhere, set_attribute
from tgc.export.kinds import JSON, Function, Node
from tgc.export.records import program_facts

UNKNOWN: tuple[Any, Any] = (None, None)


def is_bound_variable(node: Node) -> Any: return node.op.name == "BIND" or getattr(node, "is_bound_var", False)


def bound_values(nodes: Iterable[Node]) -> dict[str, int]:
  values: dict[str, int] = {}
  for node in nodes:
    if not is_bound_variable(node): continue
    with contextlib.suppress(Exception):  # a variable bound to a range has no value
      variable, value = node.unbind()
      values[variable.expr] = int(value)
  return values


def bound_arguments(args: list[Any]) -> dict[str, int]:
  values: dict[str, int] = {}
  for x in args:
    if len(args) < 4096 and isinstance(x, (list, tuple, dict)): args += x.values() if isinstance(x, dict) else x
    node = getattr(x, "uop", x)
    if hasattr(node, "toposort"): values |= bound_values(node.toposort())
  return values


def number_of_elements(buffer: Any) -> int:
  """Returns the number of elements, which releases call max_numel(), numel() or, if it is a number, `size`."""
  if hasattr(buffer, "max_numel"): return int(buffer.max_numel())
  return buffer.size if isinstance(buffer.size, int) else buffer.numel()


def buffer_contents(buffer: Any) -> Any:
  """Returns (dtype, bytes) of an allocated buffer; None for other objects, and if it cannot be read."""
  if not getattr(buffer, "is_allocated", lambda: False)(): return None
  read = getattr(buffer, "as_memoryview", None) or buffer.as_buffer
  try: return getattr(buffer.dtype, "base", buffer.dtype), bytes(read())
  except Exception: return None  # such as a view of memory that is not allocated yet


class ArraySaver:
  """Saves the arrays of kernels in files.

  `programs` has (record id, launch facts) of a kernel by (name, source) and, in GraphRecorder, by its AST's key."""

  def __init__(self, recorder: Any) -> None:
    self.recorder = recorder
    self.programs: dict[Any, tuple[Any, Any]] = {}
    self.saved: set[str | None] = set()

  def watch(self) -> None:
    from tinygrad.engine import realize
    if runner := getattr(realize, "CompiledRunner", None): set_attribute(runner, "__call__", self.watched_runner(runner.__call__))
    elif hasattr(realize, "run_linear"): replace_everywhere(realize.run_linear, self.watched_linear(realize.run_linear))
    else: print_message("--save-inputs does not know how this tinygrad runs kernels")

  def watched_runner(self, run: Function) -> Any:
    def call(runner: Any, rawbufs: Any, var_vals: Any = None, *args: Any, **kwargs: Any) -> Any:
      facts = runner.p
      kernel_id, _ = self.programs.get((facts.name, facts.src), UNKNOWN)
      return self.run_and_save(lambda: run(runner, rawbufs, var_vals, *args, **kwargs), lambda: (kernel_id, facts), dict(zip(facts.globals, rawbufs)), var_vals or {})
    return call

  def watched_linear(self, run: Function) -> Any:
    def call(linear: Any, var_vals: Any = None, input_uops: Any = (), *args: Any, jit: Any = False, **kwargs: Any) -> Any:
      if not self.runs_calls_singly(linear, jit) or len(args) > 1: return run(linear, var_vals, input_uops, *args, jit=jit, **kwargs)
      for one in linear.src:
        run_one = functools.partial(run, linear.replace(src=(one,)), var_vals, input_uops, *args, jit=jit, **kwargs)
        self.run_and_save(run_one, functools.partial(self.known_program, one.src[0]), self.buffers_of(one, input_uops), (var_vals or {}) | bound_values(one.src[1:]))
    return call

  def runs_calls_singly(self, linear: Any, jit: Any) -> bool:
    return not jit and all(c.op.name == "CALL" for c in linear.src)

  def run_and_save(self, run: Function, known: Callable[[], tuple[Any, Any]], buffers: dict[int, Any], values: dict[str, int]) -> Any:
    """Runs a kernel, and saves its arrays if it runs for the first time.

    `known` returns the kernel's record id and launch facts, which may be known only after the run. `buffers`: by number
    of the parameter. `values`: of variables, by name.
    """
    if known()[0] in self.saved: return run()
    before = {n: buffer_contents(b) for n, b in buffers.items()}
    result = run()
    kernel_id, facts = known()
    if kernel_id is not None and kernel_id not in self.saved:
      self.save(kernel_id, "in", {n: before.get(n) for n in facts.ins}, facts.vars, values)
      self.save(kernel_id, "out", {n: buffer_contents(buffers.get(n)) for n in facts.outs})
    return result

  def known_program(self, callee: Any) -> tuple[Any, Any]:
    if callee.op.name != "PROGRAM": return self.programs.get(callee.key, UNKNOWN)
    sources = [s.arg for s in callee.src if s.op.name == "SOURCE"]
    return self.programs.get((program_facts(callee).name, sources[0] if sources else None), UNKNOWN)

  def buffers_of(self, call: Any, inputs: Any) -> dict[int, Any]:
    """Returns the buffers of a call by number of the parameter; {} if it runs no kernel, or on several devices."""
    if call.src[0].op.name not in ("SINK", "PROGRAM"): return {}
    out = {}
    for number, node in enumerate(s for s in call.src[1:] if not is_bound_variable(s)):
      with contextlib.suppress(Exception):
        slots = {u: inputs[getattr(u.arg, "slot", u.arg)] for u in node.toposort() if u.op.name == "PARAM"}
        out[number] = (node.substitute(slots) if slots else node).buffer
    return out if not any(hasattr(b, "bufs") for b in out.values()) else {}

  def save(self, kernel_id: str, direction: str, arrays: JSON, variables: Iterable[Any] = (), values: Any = None) -> None:
    """Saves arrays, {number: (dtype, bytes) or None}, and the values of variables. `direction`: "in" or "out"."""
    self.saved.add(kernel_id)
    try:
      from tinygrad.dtype import dtypes
      output = self.recorder.output
      folder = output.with_name(tagged_path(output, "inputs").name.split(".jsonl")[0].removesuffix(".gz"))
      folder.mkdir(exist_ok=True)
      kept = {f"data{n}": array for n, array in arrays.items() if array is not None}
      names = {v.expr for v in variables} & (values or {}).keys()
      kept |= {v: (dtypes.int64, struct.pack("<q", values[v])) for v in names}
      save_arrays(folder / f"{kernel_id}.{direction}.npz", kept)
    except Exception: self.recorder.report_failure(f"kernel's {direction}put")
