"""Writes a short Python program that shows, without tgc, the wrong value that a rule makes with the installed tinygrad
(`tgc prove --program`): a kernel that stores the left side of the rule, for inputs at which both sides differ. The program
counts only if it prints what the right side gives.

A question has "place" (FILE:LINE of the rule), "graph" (its left side, in tgc's JSON), and "values": a text for each leaf
(data1, r0, the name of a variable), and for both sides ("before", "after"). The program has numbers and names of its own
from the question, and no text of it but the place."""
from __future__ import annotations

import inspect
import math
import os
import re
import subprocess
import sys
from typing import Any

from tgc.export.graph_reader import parse_nodes
from tgc.export.kinds import JSON, Node
from tgc.export.versions import installed_version

MOST_SECONDS = 40  # tgc waits for 60
MOST_NODES = 40
MOST_ELEMENTS = 1 << 16  # most elements of an array
LONGEST = 70  # maximum length of an expression without a name of its own
NARROW = {"__bf16", "float8_e4m3", "float8_e5m2"}  # dtypes without a type in Python
OPERATORS = {"ADD": "+", "MUL": "*", "AND": "&", "OR": "|", "XOR": "^"}  # the same for all releases and dtypes


class NoProgram(Exception):
  """The left side cannot be a kernel of its own. The message says why."""


def number_of(text: str) -> Any:
  if text in ("True", "False"): return text == "True"
  try: return int(text)
  except ValueError: pass
  try: return float(text)
  except ValueError: raise NoProgram(f"the value '{text}' has no text in Python") from None


def in_python(value: Any) -> str: return f'float("{value}")' if isinstance(value, float) and not math.isfinite(value) else repr(value)


def as_element(value: Any, dtype: Any) -> Any:
  """Returns the number that an array of the dtype has after `value` is stored to it."""
  from tinygrad.dtype import dtypes
  if dtypes.is_float(dtype): return float(value)
  if dtype == dtypes.bool: return bool(value)
  return int(value) % (1 << 8 * dtype.itemsize) if dtypes.is_unsigned(dtype) else int(value)


def is_index(dtype: Any) -> bool: return getattr(dtype, "name", "") in {"weakint", "index"}


def variable_of(node: Node) -> tuple[str, int, int] | None:
  """Returns the name and the bounds of a variable; None for other nodes."""
  if node.op.name == "DEFINE_VAR": return (node.arg[0], node.arg[1], node.arg[2])
  bounds, name = getattr(node.arg, "vmin_vmax", None), getattr(node.arg, "name", None)
  return (name, *bounds) if bounds and name else None


def slot_of(node: Node) -> int | None:
  """Returns the number of a kernel's array; None for other nodes."""
  if node.op.name == "DEFINE_GLOBAL": return int(node.arg)
  if node.op.name != "PARAM" or variable_of(node): return None
  return int(node.arg if isinstance(node.arg, int) else node.arg.slot)


class Writer:
  """Writes the expressions of a graph as Python."""

  def __init__(self, root: Node, values: dict[str, str]) -> None:
    from tinygrad.dtype import dtypes
    from tinygrad.uop.ops import UOp
    self.dtypes, self.values, self.root = dtypes, values, root
    self.puts_dtype_first = next(iter(inspect.signature(UOp.const).parameters)) == "dtype"
    self.imports = "dtypes"
    self.lines: list[str] = []
    self.texts: dict[Node, str] = {}
    self.loops: list[tuple[str, int, int]] = []  # name, size, and the iteration to look at
    self.arrays: dict[int, tuple[str, Any, int]] = {}  # by number: name, dtype, size
    nodes = list(root.toposort())
    if len(nodes) > MOST_NODES: raise NoProgram(f"the left side has {len(nodes)} nodes")
    self.uses: dict[Node, int] = {}
    for u in nodes:
      for s in u.src: self.uses[s] = self.uses.get(s, 0) + 1
    self.closed = {r for u in nodes if u.op.name == "REDUCE" for r in u.src[1:]}

  def dtype(self, dtype: Any) -> str:
    name = next((n for n in ("bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "bfloat16", "float", "double",
                             "fp8e4m3", "fp8e5m2", "weakint", "index") if getattr(self.dtypes, n, None) is dtype), None)
    if name is None: raise NoProgram(f"the dtype {dtype} is no scalar")
    return f"dtypes.{name}"

  def constant(self, dtype: Any, value: Any) -> str:
    if type(value).__name__ in {"InvalidType", "_InvalidType"}:
      self.imports = "Invalid, dtypes"
      return f"UOp.const({self.dtype(dtype)}, Invalid)" if self.puts_dtype_first else "UOp.const(Invalid)"
    text = in_python(float(value) if self.dtypes.is_float(dtype) else value)
    if self.puts_dtype_first: return f"UOp.const({self.dtype(dtype)}, {text})"
    return f"UOp.const({text})" if is_index(dtype) else f"UOp.const({text}, {self.dtype(dtype)})"

  def weak(self) -> Any: return getattr(self.dtypes, "weakint", None) or self.dtypes.index

  def named(self, text: str) -> str:
    if text.isidentifier(): return text
    self.lines.append(f"x{len(self.lines)} = {text}")
    return f"x{len(self.lines) - 1}"

  def loop(self, name: str, size: int, least: int, is_closed: bool) -> str:
    variable = self.named(f"UOp.range({size}, {len(self.lines)})")
    if not is_closed: self.loops.append((variable, size, int(number_of(self.values.get(name, str(least)))) - least))
    return f"{variable} + {self.constant(self.weak(), least)}" if least else variable

  def of(self, node: Node) -> str:
    if node in self.texts: return self.texts[node]
    text = self.made(node)
    is_shared = self.uses.get(node, 0) > 1 and node.op.name != "CONST"
    if is_shared or len(text) > LONGEST: text = self.named(text)
    elif node is not self.root and (node.op.name in {*OPERATORS, "CMPLT"} or variable_of(node)) and not text.isidentifier(): text = f"({text})"
    self.texts[node] = text
    return text

  def made(self, node: Node) -> str:
    op, src = node.op.name, node.src
    if op == "CONST": return self.constant(node.dtype, getattr(node.arg, "value", node.arg))
    if (variable := variable_of(node)) is not None:
      name, low, high = variable
      return self.loop(name, high - low + 1, low, False)
    if op in ("RANGE", "SPECIAL"):
      if src[0].op.name != "CONST": raise NoProgram("the size of a loop depends on another value")
      name = f"r{node.arg[0]}" if op == "RANGE" else str(node.arg)
      return self.loop(name, int(src[0].arg), 0, node in self.closed)
    if (slot := slot_of(node)) is not None:
      size = getattr(node.dtype, "size", None) or math.prod(node.shape)
      base = getattr(node.dtype, "base", node.dtype)
      self.arrays[slot] = f"data{slot}", base, int(size)
      return f"data{slot}"
    if op == "LOAD" and len(src) == 1: return self.of(src[0])
    if op == "LOAD" and (gate := self.gate_of(node)) is not None:  # write the load as it was before the gate became a part of it
      memory, at, gate_text = self.of(src[0].src[0]), self.of(src[0].src[1]), self.of(gate)
      return f"{gate_text}.where({memory}.index({gate_text}.where({at}, {self.invalid()})), {self.of(src[1])})"
    if op == "INDEX" and len(src) == 2 and slot_of(src[0]) is not None: return f"{self.of(src[0])}.index({self.of(src[1])})"
    if op == "REDUCE":
      kind = node.arg[0] if isinstance(node.arg, tuple) else node.arg
      value, *ranges = [self.of(s) for s in src]
      return f"{value}.reduce({', '.join(ranges)}, arg=Ops.{kind.name})"
    if op in ("CAST", "BITCAST"): return f"{self.of(src[0])}.{op.lower()}({self.dtype(node.dtype)})"
    from tinygrad.uop.ops import GroupOp
    if node.op not in GroupOp.ALU: raise NoProgram(f"a kernel of its own cannot have its {op}")
    operands = [self.of(s) for s in src]
    if op == "CMPLT": return f"{operands[0]} < {operands[1]}"
    if op == "WHERE": return f"{operands[0]}.where({operands[1]}, {operands[2]})"
    if op in OPERATORS: return f"{operands[0]} {OPERATORS[op]} {operands[1]}"
    return f"{operands[0]}.alu({', '.join(['Ops.' + op, *operands[1:]])})"

  def gate_of(self, load: Node) -> Any:
    """Returns the gate of a load that has an alternative value; None if it has none."""
    index = load.src[0]
    if index.op.name != "INDEX" or slot_of(index.src[0]) is None: return None
    return load.src[2] if len(load.src) == 3 else index.src[2] if len(index.src) == 3 else None

  def invalid(self) -> str:
    from tinygrad.dtype import Invalid
    return self.constant(self.weak(), Invalid)

  def filled(self, name: str, dtype: Any, size: int) -> str:
    """Returns the text of an array's contents. If the left side reads one element, all elements have its value."""
    if size > MOST_ELEMENTS: raise NoProgram(f"an array has {size} elements")
    text = self.values.get(name, "0")
    if not text.startswith("["): return f"[{in_python(as_element(number_of(text), dtype))}]" + (f" * {size}" if size > 1 else "")
    elements = text[1:-1].split(", ")
    if len(elements) != size: raise NoProgram("the report has only some elements of an array")
    return f"[{', '.join(in_python(as_element(number_of(x), dtype)) for x in elements)}]"


def program_of(question: JSON) -> str:
  """Returns the text of a program. Raises NoProgram if the left side cannot be a kernel of its own."""
  from tinygrad.dtype import dtypes
  values = question["values"]
  root = parse_nodes(question["graph"])[-1]
  if root.dtype == dtypes.void: raise NoProgram("the left side has no value")
  writer = Writer(root, values)
  value = writer.of(root)
  dtype = dtypes.long if is_index(root.dtype) else root.dtype
  if is_index(root.dtype): value = f"{writer.named(value)}.cast(dtypes.long)"
  size = math.prod(n for _, n, _ in writer.loops)
  if size > MOST_ELEMENTS: raise NoProgram(f"the loops have {size} iterations")
  at, position = "", 0
  for name, n, chosen in writer.loops:
    if not 0 <= chosen < n: raise NoProgram("a value lies outside of its loop")
    at, position = (f"({at}) * {n} + {name}" if " " in at else f"{at} * {n} + {name}" if at else name), position * n + chosen
  at = at or writer.constant(writer.weak(), 0)
  ends = f".end({', '.join(name for name, *_ in writer.loops)})" if writer.loops else ""
  arrays = [writer.arrays[slot] for slot in sorted(writer.arrays)]
  kinds = [("out", dtype, size), *arrays]
  tensors = [f"Tensor.empty({size}, dtype={writer.dtype(dtype)})",
             *[f"Tensor({writer.filled(*a)}, dtype={writer.dtype(a[1])})" for a in arrays]]
  result = "Tensor.custom_kernel(*tensors, fxn=lambda *_: kernel)[0]" + (".float()" if dtype.name in NARROW else "")
  where = question["place"] if re.fullmatch(r"[\w/.]+:\d+", question["place"], re.ASCII) else "a rule"
  return "\n".join([
    f"# {where} of tinygrad {installed_version()} makes the value of this kernel wrong. Run it with DEV=CPU.",
    "from tinygrad import Tensor",
    f"from tinygrad.dtype import {writer.imports}",
    "from tinygrad.uop.ops import KernelInfo, Ops, UOp",
    *[f"{name} = UOp.placeholder(({n},), {writer.dtype(d)}, {i})" for i, (name, d, n) in enumerate(kinds)],
    *writer.lines,
    f'kernel = out.index({at}).store({value}){ends}.sink(arg=KernelInfo(name="left_side"))',
    f"tensors = [{', '.join(tensors)}]",
    f'print({result}.tolist()[{position}], "right:", {in_python(as_element(number_of(values["before"]), dtype))})',
  ]) + "\n"


def are_equal(a: Any, b: Any) -> bool:
  """Returns True if both numbers are the same, or if one is a float and they differ by at most 1 %."""
  if not isinstance(a, float) and not isinstance(b, float): return bool(a == b)
  a, b = float(a), float(b)
  return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 0.01 * max(abs(a), abs(b))


def run(text: str) -> str:
  """Returns what the program prints. Raises NoProgram if tinygrad refuses it, or needs more than MOST_SECONDS."""
  try: done = subprocess.run([sys.executable, "-c", text], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=MOST_SECONDS,
                             check=False, env=os.environ | {"DEV": "CPU"})
  except subprocess.TimeoutExpired: raise NoProgram(f"tinygrad needs more than {MOST_SECONDS} s for the left side") from None
  if done.returncode: raise NoProgram("tinygrad refuses the left side as a kernel: " + (done.stderr.strip().splitlines() or ["no message"])[-1][:120])
  return done.stdout.strip()


def answer_program(question: JSON) -> JSON:
  """Returns the program and what it prints, or why there is none."""
  before, after = (question["values"].get(side, "") for side in ("before", "after"))
  try:
    printed = run(text := program_of(question))
    result = number_of(printed.split(" right:")[0])
    if not are_equal(result, number_of(after)) and not are_equal(result, number_of(after) % (1 << 64)):
      raise NoProgram(f"a kernel of the left side alone computes {result}, where the left side is {before} and the right side {after}: "
                      "the rule is not used there, or other rules change the kernel first")
  except NoProgram as why: return {"why": str(why)}
  return {"program": text, "printed": printed}
