"""Makes instances of the rewrite rules of the installed tinygrad, for `tgc prove --rules --live`: nodes that a rule's
pattern matches, and what the rule makes of them. Patterns that the generator cannot fill get instances from the programs
of rule_programs."""
from __future__ import annotations

import gzip
import importlib
import inspect
import itertools
import json
import pathlib
import pkgutil
import random
from collections.abc import Iterator
from typing import Any

from tgc.export.graphs import graph_text
from tgc.export.kinds import JSON, Function, Node
from tgc.export.matches import matches_json, place, rule_location
from tgc.export.rule_programs import matches_of_programs
from tgc.export.versions import installed_version

ROOMS = ("tinygrad.uop.symbolic", "tinygrad.uop.divandmod", "tinygrad.uop.movement", "tinygrad.uop.weak", "tinygrad.codegen",
         "tinygrad.schedule", "tinygrad.renderer")
# Rules that check graphs, write text or select instructions make no other value.
NO_REWRITES = ("uop/spec.py", "uop/render.py", "renderer/")
MOST_INSTANCES = 16  # of one rule
MOST_TRIES = 600
MOST_FAILURES = 120  # tries without any instance
FEW = 4  # a rule with fewer instances gets some from programs
CONSTANTS = (0, 1, 2, -1, 3, 4, 7, 8, -2, 16, 255, 100, -8, 5, 1 << 20)
FLOATS = (0.0, 1.0, 2.0, -1.0, 0.5, 3.0, -2.5, 100.0)

OF_INTEGERS = {"AND", "OR", "XOR", "SHL", "SHR", "IDIV", "MOD", "CDIV", "CMOD", "FLOORDIV", "FLOORMOD", "THREEFRY"}
OF_BOOLS = {"AND", "OR", "XOR"}
OF_FLOATS = {"SQRT", "RECIPROCAL", "EXP2", "LOG2", "SIN", "FDIV", "POW"}


class Unmakeable(Exception):
  """A part of a pattern that the generator does not know."""


def dtype_of(pattern: Any) -> Any:
  """Returns the dtypes that a pattern admits; None: all."""
  return pattern.match_dtype if hasattr(pattern, "match_dtype") else pattern.dtype


def is_invalid(node: Node) -> bool: return type(node.arg).__name__ in {"InvalidType", "_InvalidType"}


def constant_of(value: Any, dtype: Any = None) -> Any:
  """Returns a CONST of the dtype, or of the dtype of indices."""
  from tinygrad.dtype import dtypes
  from tinygrad.uop.ops import UOp
  # before 0.14, the dtype comes first
  if next(iter(inspect.signature(UOp.const).parameters)) == "dtype": return UOp.const(dtype or getattr(dtypes, "weakint", None) or dtypes.index, value)
  return UOp.const(value, dtype) if dtype is not None else UOp.const(value)


class Maker:
  """Makes one node that a pattern matches, by choices that `random` takes."""

  def __init__(self, dtype: Any, choose: random.Random) -> None:
    from tinygrad.dtype import dtypes
    from tinygrad.uop.ops import GroupOp, Ops, UOp
    self.dtypes, self.groups, self.ops, self.node = dtypes, GroupOp, Ops, UOp
    self.dtype, self.random = dtype, choose
    self.named: dict[str, Node] = {}
    self.leaves = 0
    self.bounds: list[int] = []  # of variables: constants at bounds show guards that are wrong by one

  def weak(self) -> Any: return getattr(self.dtypes, "weakint", None) or self.dtypes.index

  def is_weak(self, dtype: Any) -> bool: return getattr(dtype, "name", "") in {"weakint", "index"}

  # -- operands that a pattern leaves open

  def variable(self) -> Any:
    self.leaves += 1
    if self.random.random() < 0.3: return self.node.range(self.random.choice([4, 6, 10]), self.leaves)
    low, high = self.random.choice([(0, 10), (-5, 6), (1, 100), (0, 3), (0, 1), (3, 3)])
    self.bounds += [low, high, high + 1]
    return self.node.variable(f"v{self.leaves}", low, high)

  def element(self, dtype: Any) -> Any:
    self.leaves += 1
    buffer = self.node.placeholder((16,), dtype, self.leaves)
    return buffer.index(constant_of(self.random.randrange(16)))

  def index_expression(self) -> Any:
    v, c = self.variable(), self.random.choice([2, 3, 4, 6, 12])
    kind = self.random.randrange(9)
    if kind < 4: return v
    return [v * c, v + c, v % c, v // c, v * c + self.variable()][kind - 4]

  def leaf(self, dtype: Any) -> Any:
    """Returns a variable, an element of a buffer, or an expression of one."""
    if self.random.random() < 0.15: return self.constant(dtype, None)
    if self.is_weak(dtype): return self.index_expression()
    kind = self.random.randrange(8)
    if dtype == self.dtypes.bool:
      if kind < 4: return self.element(dtype)
      below = self.index_expression() < self.random.choice([1, 2, 4])
      return below if kind < 6 else below & (self.variable() < 5)
    x = self.element(dtype)
    if kind == 6: return x + self.element(dtype)
    if kind == 7: return x * self.constant(dtype, None)
    return x

  def constant(self, dtype: Any, arg: Any) -> Any:
    value = arg
    if type(value).__name__ in {"InvalidType", "_InvalidType"}: return constant_of(value)
    if value is None:
      is_float = self.dtypes.is_float(dtype)
      value = self.random.choice(FLOATS if is_float else CONSTANTS)
      if self.is_weak(dtype) and self.bounds and self.random.random() < 0.5: value = self.random.choice(self.bounds)
      if dtype == self.dtypes.bool: value = bool(int(value) & 1)
      elif self.dtypes.is_unsigned(dtype): value = abs(value)
    elif self.dtypes.is_unsigned(dtype) and value < 0: raise Unmakeable("a negative constant of an unsigned dtype")
    return constant_of(value, None if self.is_weak(dtype) else dtype)

  # -- the parts of a pattern

  def make(self, p: Any, wanted: Any) -> Any:
    """Returns a node for the pattern `p`, of the dtype `wanted` if the pattern leaves it open."""
    if p is None: return self.leaf(wanted)
    if p.name is not None and p.name in self.named: return self.named[p.name]
    if p.is_any: return self.make(self.random.choice(list(p.src[0])), wanted)
    if getattr(p, "match_tag", None): raise Unmakeable("tag")
    dtypes = dtype_of(p)
    dtype = wanted if dtypes is None or wanted in dtypes else self.random.choice(list(dtypes))
    out = self.made(p, dtype, dtypes is not None)
    if p.name is not None: self.named[p.name] = out
    return out

  def made(self, p: Any, dtype: Any, has_dtype: bool) -> Any:
    if p.op is None: return self.constant(dtype, p.arg) if p.arg is not None else self.leaf(dtype)
    op, ops = self.random.choice(list(p.op)), self.ops
    if op is ops.CONST: return self.constant(dtype, p.arg)
    if op is ops.RANGE:
      ends = self.patterns(p, 1)
      end = self.random.choice([1, 4, 6]) if ends[0] is None else self.make(ends[0], self.weak())
      self.leaves += 1
      return self.node.range(end, self.leaves)
    if op.name in OF_INTEGERS and (self.dtypes.is_float(dtype) or (dtype == self.dtypes.bool and op.name not in OF_BOOLS)): dtype = self.dtypes.int
    if op.name in OF_FLOATS and not self.dtypes.is_float(dtype): dtype = self.dtypes.float
    if op in self.groups.Comparison: return self.of_sources(p, op, [self.dtype] * 2)
    if op is ops.WHERE: return self.of_sources(p, op, [self.dtypes.bool, dtype, dtype])
    if op in self.groups.Unary: return self.of_sources(p, op, [dtype])
    if op in self.groups.Binary: return self.of_sources(p, op, [dtype] * 2)
    if op in self.groups.Ternary: return self.of_sources(p, op, [dtype] * 3)
    if op in (ops.CAST, ops.BITCAST): return self.cast(p, op, dtype, has_dtype)
    return self.other(p, op, dtype)

  def cast(self, p: Any, op: Any, dtype: Any, has_dtype: bool) -> Any:
    d = self.dtypes
    kinds = [d.int, d.float, d.half, d.long, d.short, d.uchar, d.uint]
    if op is self.ops.CAST: kinds += [d.bool, self.dtype, self.dtype]
    source = self.make(self.patterns(p, 1)[0], self.random.choice(kinds))
    to = dtype if has_dtype else self.random.choice(kinds)
    if self.is_weak(to) and self.dtypes.is_float(source.dtype): raise Unmakeable("an index of a float")
    if op is self.ops.CAST: return source.cast(to)
    return source.bitcast(to if has_dtype else self.random.choice([k for k in kinds if k.itemsize == source.dtype.itemsize]))

  def other(self, p: Any, op: Any, dtype: Any) -> Any:
    ops = self.ops
    if op is ops.LOAD:
      first, *rest = self.patterns(p, 1)
      index = self.element(dtype) if first is None else self.make(first, dtype)
      return index.load(*[self.make(s, self.dtypes.bool if i else dtype) for i, s in enumerate(rest)])
    if op is ops.INDEX:
      memory, *at = self.patterns(p, 2)
      buffer = self.node.placeholder((16,), dtype, 100 + self.leaves)
      if memory is not None and memory.op is not None: buffer = self.make(memory, dtype)
      elif memory is not None and memory.name: buffer = self.named.setdefault(memory.name, buffer)
      self.leaves += 1
      return buffer.index(*[self.make(s, self.weak()) for s in at])
    if op is ops.STORE:
      place, value, *rest = self.patterns(p, 2)
      index = self.element(dtype) if place is None else self.make(place, dtype)
      return index.store(self.make(value, dtype), *[self.make(s, self.dtypes.bool) for s in rest])
    if op is not None and op.name in ("STACK", "VECTORIZE"):
      sources = self.patterns(p, 0)
      if sources: sources = sources * (self.random.choice([2, 3, 4]) if len(sources) == 1 else 1)
      parts = [self.make(s, dtype) for s in sources] or [self.constant(dtype, None) for _ in range(2)]
      return self.node(op, src=tuple(parts)) if op.name == "STACK" else parts[0].vectorize(*parts[1:])
    if op is ops.AFTER:
      memory, *rest = self.patterns(p, 1)
      buffer = self.node.placeholder((16,), dtype, 100) if memory is None else self.make(memory, dtype)
      store = self.element(dtype).store(self.element(dtype))
      return buffer.after(*([self.make(s, dtype) for s in rest] or ([store] if not p.strict_length else [])))
    if op is ops.REDUCE:
      value, *ranges = self.patterns(p, 1)
      loops = [self.make(r, self.weak()) for r in ranges] or [self.node.range(self.random.choice([3, 4]), 90)]
      self.named.setdefault("loop", loops[0])
      kind = p.arg[0] if isinstance(p.arg, tuple) else p.arg or ops.ADD
      return self.make(value, dtype).reduce(*loops, arg=kind)
    if op in (ops.GROUP, ops.SINK):
      sources = [self.make(s, dtype) if s is not None and s.op is not None else self.element(dtype).store(self.element(dtype))
                 for s in (self.patterns(p, 2) or [None])]
      return self.node(op, src=tuple(sources)) if op is ops.GROUP else self.node.sink(*sources)
    raise Unmakeable(op.name)

  def patterns(self, p: Any, count: int) -> list[Any]:
    """Returns the patterns of a node's sources; None for a source without a pattern."""
    if p.src is None: return [None] * count
    chosen = self.random.choice(p.src)
    if isinstance(chosen, itertools.repeat): return [next(chosen)] * max(1, count)
    return list(chosen) + [None] * (count - len(chosen))

  def of_sources(self, p: Any, op: Any, wanted: list[Any]) -> Any:
    """Makes the operands that the pattern says most of first. The others have the same dtype, but for a condition and for
    constants without a dtype of their own."""
    patterns = self.patterns(p, len(wanted))
    def freedom(i: int) -> int:
      part = patterns[i]
      if part is None or part.op is None: return 2 if part is None or dtype_of(part) is None else 0
      return 3 if part.op[0].name == "CONST" else 1
    made: dict[int, Any] = {}
    dtype = None
    for i in sorted(range(len(wanted)), key=freedom):
      is_condition = op is self.ops.WHERE and i == 0
      made[i] = self.make(patterns[i], wanted[i] if dtype is None or is_condition else dtype)
      if not is_condition and dtype is None: dtype = made[i].dtype
      if not is_condition and made[i].dtype != dtype and not is_invalid(made[i]): raise Unmakeable("operands of several dtypes")
    return made[0].alu(op, *[made[i] for i in range(1, len(wanted))])


def all_rules() -> Iterator[tuple[Any, Function]]:
  """Yields the pattern and the function of each rule in the modules of the compiler, each once."""
  from tinygrad.uop.ops import PatternMatcher
  names = []
  for room in ROOMS:
    try: module = importlib.import_module(room)
    except ImportError: continue
    names.append(room)
    if hasattr(module, "__path__"): names += [m.name for m in pkgutil.walk_packages(module.__path__, room + ".")]
  seen = set()
  for name in names:
    try: module = importlib.import_module(name)
    except Exception: continue  # a backend whose libraries are missing
    for matcher in vars(module).values():
      if not isinstance(matcher, PatternMatcher): continue
      for pattern, function in matcher.patterns:
        where = rule_location(pattern)
        if (key := (id(pattern), getattr(function, "__code__", function))) in seen or where.startswith(NO_REWRITES): continue
        seen.add(key)
        yield pattern, function


def is_of_values(pattern: Any) -> bool:
  """Returns True if the pattern's root is an operation on values: an ALU op, a cast or a vector."""
  from tinygrad.uop.ops import GroupOp, Ops
  values = {*GroupOp.ALU, Ops.CAST, Ops.BITCAST, *(getattr(Ops, n) for n in ("STACK", "VECTORIZE", "GEP") if hasattr(Ops, n))}
  return pattern.op is not None and values.issuperset(pattern.op) and not getattr(pattern, "match_tag", None)


# Names that build nodes. A function that uses others may look at its operands.
BUILDERS = {"alu", "where", "cast", "bitcast", "const_like", "logical_not", "ne", "eq", "dtype", "maximum", "minimum", "reciprocal", "valid", "UOp",
            "Ops", "const", "dtypes", "bool", "float", "neg", "simplify"}


def patterns_below(pattern: Any) -> Iterator[Any]:
  """Yields a pattern and the patterns of its sources, the first choice of each."""
  parts = [pattern]
  while parts:
    yield (p := parts.pop())
    chosen = p.src[0] if p.src else ()
    parts += [next(chosen)] if isinstance(chosen, itertools.repeat) else list(chosen)


def is_general(pattern: Any, function: Function) -> bool:
  """Returns True if the rule builds the same nodes for all operands: it binds no constant, and looks at no operand."""
  if any(p.op is not None and any(op.name == "CONST" for op in p.op) and p.arg is None for p in patterns_below(pattern)): return False
  code = getattr(function, "__code__", None)
  return code is not None and BUILDERS.issuperset(code.co_names) and "ctx" not in code.co_varnames


def depends_on_context(pattern: Any, function: Function) -> bool:
  """Returns True if the rule reads a context, or a tag that another rule sets. Then both sides may mean other things."""
  if (code := getattr(function, "__code__", None)) is not None and {"ctx", "tag", "rtag"}.intersection(code.co_varnames + code.co_names): return True
  return any(getattr(p, "match_tag", None) for p in patterns_below(pattern))


def instances_of(pattern: Any, function: Function) -> list[tuple[Node, Node]]:
  """Returns nodes that the pattern matches, and what the rule makes of them."""
  from tinygrad.dtype import dtypes
  from tinygrad.uop.ops import PatternMatcher
  matcher = PatternMatcher([(pattern, function)])
  weak = getattr(dtypes, "weakint", None) or dtypes.index
  kinds = [weak, dtypes.int, dtypes.float, dtypes.bool, weak, dtypes.uint, dtypes.long, dtypes.half, dtypes.uchar]
  choose = random.Random(1)
  out: dict[tuple[Node, Node], None] = {}
  for n in range(MOST_TRIES):
    if len(out) >= MOST_INSTANCES or (n >= MOST_FAILURES and not out): break
    try:
      before = Maker(kinds[n % len(kinds)], choose).make(pattern, kinds[n % len(kinds)])
      after = matcher.rewrite(before, {})
    except Exception: continue  # the rule or a node does not accept these operands
    if any(getattr(u.dtype, "name", "") == "weakfloat" and u.op.name != "CONST" for u in before.toposort()): continue  # it has no precision yet
    if after is not None and after is not before and hasattr(after, "src"): out[before, after] = None
  return list(out)


def write_rules(path: pathlib.Path, only: str) -> int:
  """Writes a recording of instances of all rules whose place contains `only`; returns the number of rules."""
  places: dict[str, set[str]] = {}  # by place, what lib/prove/live_rules.h says of a rule
  instances: dict[str, list[tuple[Node, Node]]] = {}
  for pattern, function in all_rules():
    where = rule_location(pattern)
    if not is_place_of(where, only) and not is_function_of(function, only): continue
    words = places.setdefault(where, {"general"})
    if is_of_values(pattern) and not where.startswith("schedule/"): words.add("values")
    if not is_general(pattern, function): words.discard("general")
    if depends_on_context(pattern, function): words.add("context")
    if (name := getattr(function, "__name__", "<lambda>")) != "<lambda>": words.add(f"function:{name}")
    instances.setdefault(where, []).extend(instances_of(pattern, function))
  few = {where for where in places if len(instances[where]) < FEW}
  if few:
    for where, pairs in matches_of_programs(few).items(): instances[where] += pairs
  from tinygrad.uop.ops import UOp
  producer = f"tinygrad {installed_version()}"
  ast = UOp.sink(constant_of(0))
  header = {"format": "tgc-golden", "version": 1, "level": "kernel", "producer": producer, "settings": {}}
  matches = [(0, where, before, after, 0) for where in places for before, after in instances[where]]
  record: JSON = {"id": "rules", "target": "CPU:CLANG", "nodes": 2, "ast": graph_text(ast, producer),
                  "stages": [{"name": "rules", "same": True}], "rewrites": matches_json(matches),
                  "metadata": [{"name": where, "caller": " ".join(sorted(words))} for where, words in places.items()]}
  with gzip.open(path, "wt") as file: file.write(json.dumps(header) + "\n" + json.dumps(record) + "\n")
  return len(places)


def is_place_of(place: str, wanted: str) -> bool:
  """Returns True if FILE:LINE is the wanted place or, if that has no line, contains it."""
  return place.endswith(wanted) if wanted.rpartition(":")[2].isdigit() else wanted in place


def is_function_of(function: Function, wanted: str) -> bool:
  """Returns True if the function of a rule has the wanted name, or if FILE:LINE is one of its lines."""
  code = getattr(function, "__code__", None)
  line = wanted.rpartition(":")[2]
  if code is None or not line.isdigit(): return bool(wanted) and getattr(function, "__name__", "") == wanted
  lines = [n for *_, n in code.co_lines() if n]
  return place(code.co_filename, int(line)).endswith(wanted) and code.co_firstlineno <= int(line) <= max(lines, default=0)
