"""Finds kernel calls of a program that make a NaN (or an infinity) of numbers, for --watch-nan.

Writes out.nan.json: for each find the call, what is known of its inputs, how many later calls read its NaNs, and how
many of these stored new NaNs. The calls' arrays go where --save-inputs puts them. `tgc run out.jsonl.gz --nan` explains
a find.
"""
from __future__ import annotations

import importlib
import json
import struct
import sys
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from tgc.export.arrays import ArraySaver, buffer_contents
from tgc.export.golden import atomic_file, nan_file, print_message
from tgc.export.hooks import program_lines, set_attribute
from tgc.export.kinds import JSON

# By float dtype: bytes; all bits but the sign; the bits of infinity (of the largest number, where there is none).
FLOATS = {"half": (2, 0x7fff, 0x7c00), "bfloat16": (2, 0x7fff, 0x7f80), "float": (4, 0x7fffffff, 0x7f800000),
          "double": (8, (1 << 63) - 1, 0x7ff0000000000000), "fp8e5m2": (1, 0x7f, 0x7c), "fp8e4m3": (1, 0x7f, 0x7e)}
MOST_FINDS = 8
NAMES = {"float16": "half", "float32": "float", "float64": "double", "__bf16": "bfloat16"}


def bad_elements(array: Any, infinite: bool) -> set[int]:
  """Returns the indices of the NaNs (with `infinite`: also of the infinities) in (dtype, bytes)."""
  dtype, data = array
  name = str(getattr(dtype, "name", dtype)).removeprefix("dtypes.")
  layout = FLOATS.get(NAMES.get(name, name))
  if layout is None: return set()
  size, magnitude, infinity = layout
  least = infinity if infinite and "e4m3" not in name else infinity + 1
  try: numpy: Any = importlib.import_module("numpy")
  except ImportError: return {i for i, (bits,) in enumerate(struct.iter_unpack({1: "B", 2: "H", 4: "I", 8: "Q"}[size], data)) if bits & magnitude >= least}
  bits = numpy.frombuffer(data, f"u{size}")
  return set(numpy.flatnonzero((bits & bits.dtype.type(magnitude)) >= bits.dtype.type(least)).tolist())


class NanWatcher(ArraySaver):
  """Looks for NaNs in what kernels store. `infinite`: also for infinities. `stops`: the first find ends the program.

  A find's "read_by" is the number of later kernel calls that read NaNs which come from it, "carried_by" that of those
  which stored new NaNs."""

  def __init__(self, recorder: Any, infinite: bool, stops: bool) -> None:
    super().__init__(recorder)
    self.infinite, self.stops = infinite, stops
    self.finds: list[JSON] = []
    self.calls, self.seconds = 0, 0.0
    self.file = nan_file(recorder.output)
    self.runs: dict[Any, int] = {}
    # buffer: the call that stored to it last; "nan_of": the find whose NaNs it stored
    self.writers: weakref.WeakKeyDictionary[Any, JSON] = weakref.WeakKeyDictionary()
    self.unwritten: weakref.WeakSet[Any] = weakref.WeakSet()  # buffers that a kernel read before anything stored to them
    self.given: JSON | None = None       # the first input, in memory that no kernel stored to, that has or makes a NaN

  def runs_calls_singly(self, linear: Any, jit: Any) -> bool: return all(c.op.name == "CALL" for c in linear.src)

  def watch(self) -> None:
    super().watch()
    from tinygrad.engine import realize
    if (item := getattr(realize, "ExecItem", None)) is None: return  # in 0.12, ExecItem allocates memory before the kernel is called
    run = item.run
    def watched_run(one: Any, *args: Any, **kwargs: Any) -> Any:
      if one.ast.op.name == "SINK": self.note_new(one.bufs)
      return run(one, *args, **kwargs)
    set_attribute(item, "run", watched_run)

  def note_new(self, buffers: Iterable[Any]) -> None:
    """Notes buffers that have no memory yet. record_made_nans() removes those that a kernel stores."""
    self.unwritten |= {b.base for b in buffers if hasattr(b, "base") and not getattr(b.base, "is_allocated", lambda: True)()}

  def run_and_save(self, run: Callable[[], Any], known: Callable[[], tuple[Any, Any]], buffers: dict[int, Any], values: dict[str, int]) -> Any:
    begin = time.perf_counter()
    before = {n: buffer_contents(b) for n, b in buffers.items()}
    self.note_new(buffers.values())
    self.seconds += time.perf_counter() - begin
    result = run()
    begin = time.perf_counter()
    try: self.record_made_nans(known(), buffers, before, values)
    except Exception: self.recorder.report_failure("kernel's NaNs")
    self.seconds += time.perf_counter() - begin
    if self.finds and self.stops:
      print_message("the program is stopped here (--stop)")
      sys.exit(1)
    return result

  def record_made_nans(self, known: tuple[Any, Any], buffers: dict[int, Any], before: dict[int, Any], values: dict[str, int]) -> None:
    kernel_id, facts = known
    if kernel_id is None: return
    self.calls += 1
    self.runs[kernel_id] = self.runs.get(kernel_id, 0) + 1
    outputs = {n: after for n in facts.outs if (after := buffer_contents(buffers.get(n))) is not None}
    made = {n: sorted(bad_elements(after, self.infinite) - (bad_elements(before[n], self.infinite) if before.get(n) else set())) for n, after in outputs.items()}
    made = {n: elements for n, elements in made.items() if elements}
    for n in facts.ins:  # a view without its own memory, or new memory, had no contents before
      if n not in facts.outs and before.get(n) is None: before[n] = buffer_contents(buffers.get(n))
    unwritten = [n for n in facts.ins if n in buffers and buffers[n].base in self.unwritten]
    bad_inputs = [n for n in facts.ins if before.get(n) and bad_elements(before[n], self.infinite)]
    for n in unwritten if made else bad_inputs:
      if self.given is None and buffers[n].base not in self.writers:
        self.given = {"id": kernel_id, "call": self.calls, "input": f"data{n}", "unwritten": n in unwritten}
    origins = [find for n in bad_inputs if n in buffers and (find := self.writers.get(buffers[n].base, {}).get("nan_of"))]
    for find in {id(f): f for f in origins}.values():
      find["read_by"] += 1
      find["carried_by"] += bool(made)
    origin = origins[0] if origins else None
    if made and not bad_inputs and not unwritten and len(self.finds) < MOST_FINDS and all(f["id"] != kernel_id for f in self.finds):
      self.save(kernel_id, "in", {n: before.get(n) for n in facts.ins}, facts.vars, values)
      self.save(kernel_id, "out", outputs)
      origin = self.add_find(kernel_id, facts, buffers, made)
    for n in facts.outs:
      if n in buffers: self.writers[buffers[n].base] = {"id": kernel_id, "call": self.calls} | ({"nan_of": origin} if origin and n in made else {})
    self.unwritten.difference_update({buffers[n].base for n in facts.outs if n in buffers})

  def add_find(self, kernel_id: str, facts: Any, buffers: dict[int, Any], made: dict[int, list[int]]) -> JSON:
    inputs = {f"data{n}": w and {"id": w["id"], "call": w["call"]} for n in facts.ins if n in buffers for w in [self.writers.get(buffers[n].base)]}
    found: JSON = {"id": kernel_id, "call": self.calls, "run": self.runs[kernel_id], "asked_by": program_lines(), "inputs": inputs,
                   "outputs": {f"data{n}": {"first": elements[0], "count": len(elements)} for n, elements in made.items()},
                   "read_by": 0, "carried_by": 0}
    if running := self.recorder.jits.calls: found["jit"] = {"function": running[-1]["function"], "call": running[-1]["call"]}
    self.finds.append(found)
    self.write()
    what, place = "a NaN or an infinity" if self.infinite else "a NaN", f" ({found['asked_by'][0]})" if found["asked_by"] else ""
    print_message(f"kernel {kernel_id} makes {what} of numbers in call {self.calls}{place}; `tgc run {self.recorder.output} --nan` explains it")
    return found

  def write(self) -> None:
    document = {"format": "tgc-nan", "version": 1, "watched": "inf" if self.infinite else "nan", "found": self.finds[0], "later": self.finds[1:]}
    with atomic_file(self.file) as file: file.write(json.dumps(document).encode())

  def finish(self) -> None:
    """Writes how far the NaNs came. Prints how many calls were watched, and what was found."""
    if self.finds: self.write()
    kind = "NaN or infinity" if self.infinite else "NaN"
    print_message(f"{self.calls} kernel calls were watched, which took {self.seconds:.1f} s; " +
                  (f"{self.file.name} has {len(self.finds)} find{'s' * (len(self.finds) > 1)}" if self.finds else f"none made a {kind} of numbers"))
    if not self.given or self.finds: return
    call = f"kernel {self.given['id']}, call {self.given['call']}, "
    if self.given["unwritten"]: print_message(f"{call}makes a {kind} of {self.given['input']}, memory that nobody wrote (an empty tensor), so it is no find")
    else: print_message(f"{call}reads a {kind} from {self.given['input']}, which no kernel stored: it is in the program's data, or in memory that nobody wrote")
