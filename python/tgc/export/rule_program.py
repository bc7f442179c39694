"""Writes a short Python program that shows, without tgc, the wrong value that a rule makes with the installed tinygrad
(`tgc prove --program`), for inputs at which both sides of the rule differ:

- a kernel that stores the left side. The program counts only if it prints what the right side gives.
- If tinygrad computes that kernel rightly, because other rules change it first or the rule is used only in other graphs: the
  rule, taken from tinygrad's matcher, is applied alone to the left side, and both sides are computed, as a kernel each. The
  program counts only if it prints what both sides give.

A question has "place" (FILE:LINE of the rule), "graph" (its left side, in tgc's JSON), and "values": a text for each
leaf (data1, r0, the name of a variable), and for both sides ("before", "after"). "alone" asks for the second kind, and
"file" is the file that the user named with --rule, which may have the rule. The program contains no text of the
question except the place and the path of the user's file; graphs and values are parsed and written anew."""
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
from tgc.export.matches import rule_location
from tgc.export.versions import installed_version

MOST_SECONDS = 40  # tgc waits for 60
MOST_NODES = 40
MOST_ELEMENTS = 1 << 16
MOST_VALUES = 1 << 12  # of a loop or variable; if it has more, a program takes only some of them
LONGEST = 70
PLACE = re.compile(r"[\w/.]+:\d+", re.ASCII)
NARROW = {"__bf16", "float8_e4m3", "float8_e5m2"}  # names of dtypes whose elements Python cannot read
OPERATORS = {"ADD": "+", "MUL": "*", "AND": "&", "OR": "|", "XOR": "^"}  # the same for all releases and dtypes


class NoProgram(Exception):
  """There is no program for the question."""


def number_of(text: str) -> Any:
  if text in ("True", "False"): return text == "True"
  try: return int(text)
  except ValueError: pass
  try: return float(text)
  except ValueError: raise NoProgram(f"the value '{text}' has no text in Python") from None


def in_python(value: Any) -> str: return f'float("{value}")' if isinstance(value, float) and not math.isfinite(value) else repr(value)


def as_element(value: Any, dtype: Any) -> Any:
  """Returns `value` as a float, a bool or an integer, as the dtype is; unsigned integers wrap around."""
  from tinygrad.dtype import dtypes
  if dtypes.is_float(dtype): return float(value)
  if dtype == dtypes.bool: return bool(value)
  return int(value) % (1 << 8 * dtype.itemsize) if dtypes.is_unsigned(dtype) else int(value)


def is_index(dtype: Any) -> bool: return getattr(dtype, "name", "") in {"weakint", "index"}


def variable_of(node: Node) -> tuple[str, int, int] | None:
  if node.op.name == "DEFINE_VAR": return (node.arg[0], node.arg[1], node.arg[2])
  bounds, name = getattr(node.arg, "vmin_vmax", None), getattr(node.arg, "name", None)
  return (name, *bounds) if bounds and name else None


def slot_of(node: Node) -> int | None:
  if node.op.name == "DEFINE_GLOBAL": return int(node.arg)
  if node.op.name != "PARAM" or variable_of(node): return None
  return int(node.arg if isinstance(node.arg, int) else node.arg.slot)


class RuleProgramWriter:

  def __init__(self, root: Node, values: dict[str, str], keeps_loads: bool = False) -> None:
    from tinygrad.dtype import dtypes
    from tinygrad.uop.ops import UOp
    self.dtypes, self.values, self.root, self.keeps_loads = dtypes, values, root, keeps_loads
    self.puts_dtype_first = next(iter(inspect.signature(UOp.const).parameters)) == "dtype"
    self.imports = "dtypes"
    self.lines: list[str] = []
    self.texts: dict[Node, str] = {}
    self.loops: list[tuple[str, int, int]] = []  # name, size, and the iteration to look at
    self.arrays: dict[int, tuple[str, Any, int]] = {}
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

  def text_of_loop(self, name: str, size: int, least: int, is_closed: bool) -> str:
    """Returns the text of a loop that takes `size` values from `least` on. A loop of more than MOST_VALUES, unless it
    is that of a REDUCE (`is_closed`), takes the value at which the sides differ and those next to it."""
    if not is_closed and size > MOST_VALUES:
      first = max(least, int(number_of(self.values.get(name, str(least)))) - 1)
      least, size = first, min(3, least + size - first)
    variable = self.named(f"UOp.range({size}, {len(self.lines)})")
    if not is_closed: self.loops.append((variable, size, int(number_of(self.values.get(name, str(least)))) - least))
    return f"{variable} + {self.constant(self.weak(), least)}" if least else variable

  def of(self, node: Node) -> str:
    if node in self.texts: return self.texts[node]
    text = self.text_of_op(node)
    is_shared = self.uses.get(node, 0) > 1 and node.op.name != "CONST"
    if is_shared or len(text) > LONGEST: text = self.named(text)
    elif node is not self.root and (node.op.name in {*OPERATORS, "CMPLT"} or variable_of(node)) and not text.isidentifier(): text = f"({text})"
    self.texts[node] = text
    return text

  def text_of_op(self, node: Node) -> str:
    op, src = node.op.name, node.src
    if op == "CONST": return self.constant(node.dtype, getattr(node.arg, "value", node.arg))
    if (variable := variable_of(node)) is not None:
      name, low, high = variable
      return self.text_of_loop(name, high - low + 1, low, False)
    if op in ("RANGE", "SPECIAL"):
      if src[0].op.name != "CONST": raise NoProgram("the size of a loop depends on another value")
      name = f"r{node.arg[0]}" if op == "RANGE" else str(node.arg)
      return self.text_of_loop(name, int(src[0].arg), 0, node in self.closed)
    if (slot := slot_of(node)) is not None:
      size = getattr(node.dtype, "size", None) or math.prod(node.shape)
      base = getattr(node.dtype, "base", node.dtype)
      self.arrays[slot] = f"data{slot}", base, int(size)
      return f"data{slot}"
    if self.keeps_loads and op == "INDEX" and slot_of(src[0]) is not None:
      is_address = ", ptr=True" if hasattr(node.dtype, "size") else ""  # before 0.13, a load has a pointer
      return f"{self.of(src[0])}.index({', '.join(self.of(s) for s in src[1:])}{is_address})"
    if self.keeps_loads and op == "LOAD": return f"{self.of(src[0])}.load({', '.join(self.of(s) for s in src[1:])})"
    if op == "LOAD" and (gate := self.gate_of(node)) is not None:  # write the load as it was before the gate became a part of it
      memory, at, gate_text = self.of(src[0].src[0]), self.of(src[0].src[1]), self.of(gate)
      loaded = f"{memory}.index({gate_text}.where({at}, {self.invalid()}))"
      return f"{gate_text}.where({loaded}, {self.of(src[1])})" if len(src) > 1 else loaded
    if op == "LOAD" and len(src) == 1: return self.of(src[0])
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
    index = load.src[0]
    if index.op.name != "INDEX" or slot_of(index.src[0]) is None: return None
    return load.src[2] if len(load.src) == 3 else index.src[2] if len(index.src) == 3 else None

  def invalid(self) -> str:
    from tinygrad.dtype import Invalid
    return self.constant(self.weak(), Invalid)

  def filled(self, name: str, dtype: Any, size: int) -> str:
    """Returns the text of an array's contents. If the report has one element of the array, all elements have its value.
    """
    if size > MOST_ELEMENTS: raise NoProgram(f"an array has {size} elements")
    text = self.values.get(name, "0")
    if not text.startswith("["): return f"[{in_python(as_element(number_of(text), dtype))}]" + (f" * {size}" if size > 1 else "")
    elements = text[1:-1].split(", ")
    if len(elements) != size: raise NoProgram("the report has only some elements of an array")
    return f"[{', '.join(in_python(as_element(number_of(x), dtype)) for x in elements)}]"


class RuleKernel:
  """The left side of a question as lines of Python, and the texts of a kernel that stores it. Raises NoProgram if no
  kernel can store it."""

  def __init__(self, question: JSON, keeps_loads: bool = False) -> None:
    from tinygrad.dtype import dtypes
    self.root = root = parse_nodes(question["graph"])[-1]
    if root.dtype == dtypes.void: raise NoProgram("the left side has no value")
    self.writer = writer = RuleProgramWriter(root, question["values"], keeps_loads)
    self.value = writer.of(root)
    self.dtype = dtypes.long if is_index(root.dtype) else root.dtype
    self.size = math.prod(n for _, n, _ in writer.loops)
    if self.size > MOST_ELEMENTS: raise NoProgram(f"the loops have {self.size} iterations")
    at, self.position = "", 0
    for name, n, chosen in writer.loops:
      if not 0 <= chosen < n: raise NoProgram("a value lies outside of its loop")
      at, self.position = (f"({at}) * {n} + {name}" if " " in at else f"{at} * {n} + {name}" if at else name), self.position * n + chosen
    self.at = at or writer.constant(writer.weak(), 0)
    self.ends = f".end({', '.join(name for name, *_ in writer.loops)})" if writer.loops else ""
    self.arrays = [writer.arrays[slot] for slot in sorted(writer.arrays)]
    self.result = "Tensor.custom_kernel(*tensors, fxn=lambda *_: kernel)[0]" + (".float()" if self.dtype.name in NARROW else "")

  def tensors(self, dtype: str) -> str:
    arrays = [f"Tensor({self.writer.filled(*a)}, dtype={self.writer.dtype(a[1])})" for a in self.arrays]
    return f"tensors = [{', '.join([f'Tensor.empty({self.size}, dtype={dtype})', *arrays])}]"

  def placeholders(self) -> list[str]:
    return [f"{name} = UOp.placeholder(({n},), {self.writer.dtype(d)}, {i})" for i, (name, d, n) in enumerate(self.arrays, 1)]


def program_of(question: JSON) -> str:
  """Returns a program that computes the left side as a kernel. Raises NoProgram if the left side cannot be a kernel of
  its own.
  """
  left = RuleKernel(question)
  writer, value = left.writer, left.value
  if is_index(left.root.dtype): value = f"{writer.named(value)}.cast(dtypes.long)"
  where = question["place"] if PLACE.fullmatch(question["place"]) else "a rule"
  right = in_python(as_element(number_of(question["values"]["before"]), left.dtype))
  return "\n".join([
    f"# tinygrad {installed_version()} computes this kernel wrongly, as {where} changes it. Run it with DEV=CPU.",
    "from tinygrad import Tensor",
    f"from tinygrad.dtype import {writer.imports}",
    "from tinygrad.uop.ops import KernelInfo, Ops, UOp",
    f"out = UOp.placeholder(({left.size},), {writer.dtype(left.dtype)}, 0)",
    *left.placeholders(), *writer.lines,
    f'kernel = out.index({left.at}).store({value}){left.ends}.sink(arg=KernelInfo(name="left_side"))',
    left.tensors(writer.dtype(left.dtype)),
    f'print({left.result}.tolist()[{left.position}], "right:", {right})',
  ]) + "\n"


def matcher_of(question: JSON) -> tuple[str, str]:
  """Returns two texts of Python: statements that define `matcher`, which has the question's rule, and a condition that
  selects the rule `r` in it. Raises NoProgram if there is no matcher."""
  from tgc.export.rules import compiler_modules, matchers_of, module_outside
  place, found = question["place"], []
  def add_from(module: Any) -> bool:
    for name, matcher in matchers_of(module):
      rules = [p for p, _ in matcher.patterns if rule_location(p) == place]
      if rules: found.append((len(matcher.patterns), module, name, rules[0].location))
    return bool(found)
  own = "tinygrad." + place.rpartition(".py:")[0].replace("/", ".")
  for module in sorted(compiler_modules(), key=lambda module: module.__name__ != own):
    if add_from(module): break
  else:
    if "file" in question and (outside := module_outside(question["file"])) is not None: add_from(outside)
  if not found: raise NoProgram("no matcher of the compiler's modules has the rule")
  _, module, name, (file, line) = min(found, key=lambda row: row[0])
  imported = f"from {module.__name__} import {name} as matcher"
  if not module.__name__.startswith("tinygrad."): imported = f"import runpy; matcher = runpy.run_path({str(module.__file__)!r})[{name!r}]"
  condition = f"r[0].location[1] == {line}"
  if any(p.location[1] == line and p.location[0] != file for p, _ in vars(module)[name].patterns):
    condition += f" and r[0].location[0].endswith({place.rpartition(':')[0]!r})"
  return imported, condition


def rule_program_of(question: JSON) -> str:
  """Returns a program that applies the rule alone to the left side, and computes both sides as kernels. Raises
  NoProgram if there is none."""
  left = RuleKernel(question, keeps_loads=True)
  writer, (matcher, condition) = left.writer, matcher_of(question)
  where = question["place"] if PLACE.fullmatch(question["place"]) else "of a file"
  lines = [
    f"# The rule {where}, applied alone, changes the value of `left`. tinygrad {installed_version()} computes `left` rightly,",
    "# because other rules change that kernel first, or because it uses this rule only in other graphs. Run it with DEV=CPU.",
    "from tinygrad import Tensor",
    matcher,
    f"from tinygrad.dtype import {writer.imports}",
    "from tinygrad.uop.ops import KernelInfo, Ops, PatternMatcher, UOp",
    *left.placeholders(), *writer.lines,
    f"left = {left.value}",
    f"rule = PatternMatcher([r for r in matcher.patterns if {condition}])",
    "def computed(side):",
    *(["  side = side.cast(dtypes.long)"] if is_index(left.root.dtype) else []),
    f"  store = UOp.placeholder(({left.size},), side.dtype, 0).index({left.at}).store(side){left.ends}",
    '  kernel = store.sink(arg=KernelInfo(name="side"))',
    f"  {left.tensors('side.dtype')}",
    f"  return {left.result}",
    "right = rule.rewrite(left, {})",
    'assert right is not None, "the rule does not apply"',
    "before, after = computed(left), computed(right)",
    "before.realize(after)",  # together: in 0.12, the second schedule would be that of the first, because only their kernels differ
    f'print("before:", before.tolist()[{left.position}], "after:", after.tolist()[{left.position}])',
  ]
  return "\n".join(lines) + "\n"


def are_equal(a: Any, b: Any) -> bool:
  """Returns True if both numbers are the same, or if one is a float and they differ by at most 1 %."""
  if not isinstance(a, float) and not isinstance(b, float): return bool(a == b)
  a, b = float(a), float(b)
  return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 0.01 * max(abs(a), abs(b))


def run_program_text(text: str) -> str:
  """Returns what the program prints. Raises NoProgram if it fails, or needs more than MOST_SECONDS."""
  try: done = subprocess.run([sys.executable, "-c", text], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=MOST_SECONDS,
                             check=False, env=os.environ | {"DEV": "CPU"})
  except subprocess.TimeoutExpired: raise NoProgram(f"tinygrad needs more than {MOST_SECONDS} s for the program") from None
  if done.returncode: raise NoProgram("tinygrad refuses the program: " + (done.stderr.strip().splitlines() or ["no message"])[-1][:120])
  return done.stdout.strip()


def matches_wanted(printed: str, wanted: str) -> bool:
  """Returns True if a program printed the wanted value, or this value modulo 2**64, or if the value is undefined."""
  if wanted == "undefined": return True
  number = number_of(wanted)
  return are_equal(number_of(printed), number) or are_equal(number_of(printed), number % (1 << 64))


def answer_program(question: JSON) -> JSON:
  """Returns the program and what it prints, or why there is none. With "alone", the program applies the rule alone."""
  before, after = (question["values"].get(side, "") for side in ("before", "after"))
  try:
    printed = run_program_text(text := (rule_program_of if question.get("alone") else program_of)(question))
    if question.get("alone"):
      values = printed.removeprefix("before: ").split(" after: ")
      if len(values) != 2 or values[0] == values[1] or not matches_wanted(values[0], before) or not matches_wanted(values[1], after):
        raise NoProgram(f"with the rule alone, tinygrad computes {printed}, where the left side is {before} and the right side {after}")
    elif not matches_wanted(result := printed.split(" right:")[0], after) or matches_wanted(result, before):
      raise NoProgram(f"a kernel of the left side alone computes {result}, where the left side is {before} and the right side {after}: "
                      "the rule is not used there, or other rules change the kernel first")
  except NoProgram as why: return {"why": str(why)}
  return {"program": text, "printed": printed}
