"""Makes instances of the rewrite rules of the installed tinygrad, for `tgc prove --rules --live`: nodes that a rule's
pattern matches, and what the rule makes of them."""
from __future__ import annotations

import gzip
import importlib
import itertools
import json
import pathlib
import pkgutil
import random
from collections.abc import Iterator
from typing import Any

from tgc.export.graphs import graph_text
from tgc.export.kinds import JSON, Function, Node
from tgc.export.matches import matches_json, rule_location
from tgc.export.versions import installed_version

ROOMS = ("tinygrad.uop.symbolic", "tinygrad.uop.divandmod", "tinygrad.uop.movement", "tinygrad.uop.weak", "tinygrad.codegen",
         "tinygrad.schedule", "tinygrad.renderer")
MOST_INSTANCES = 16  # of one rule
MOST_TRIES = 400
CONSTANTS = (0, 1, 2, -1, 3, 4, 7, 8, -2, 16, 255, 100)
FLOATS = (0.0, 1.0, 2.0, -1.0, 0.5, 3.0, -2.5, 100.0)


class Unmakeable(Exception):
  """A part of a pattern that the generator does not know."""


class Maker:
  """Makes one node that a pattern matches, by choices that `random` takes."""

  def __init__(self, dtype: Any, choose: random.Random) -> None:
    from tinygrad.dtype import dtypes
    from tinygrad.uop.ops import GroupOp, Ops, UOp
    self.dtypes, self.groups, self.ops, self.node = dtypes, GroupOp, Ops, UOp
    self.dtype, self.random = dtype, choose
    self.named: dict[str, Node] = {}
    self.leaves = 0

  def is_weak(self, dtype: Any) -> bool: return getattr(dtype, "name", "") in {"weakint", "index"}

  def leaf(self, dtype: Any) -> Any:
    """Returns a variable, an element of a buffer, or an expression of one."""
    self.leaves += 1
    if self.is_weak(dtype):
      low, high = self.random.choice([(0, 10), (-5, 6), (1, 100), (0, 1)])
      return self.node.variable(f"v{self.leaves}", low, high)
    buffer = self.node.placeholder((16,), dtype, self.leaves)
    return buffer.index(self.node.const(self.random.randrange(16)))

  def constant(self, dtype: Any, arg: Any) -> Any:
    value = arg
    if value is None:
      is_float = self.dtypes.is_float(dtype)
      value = self.random.choice(FLOATS if is_float else CONSTANTS)
      if dtype == self.dtypes.bool: value = bool(int(value) & 1)
      elif self.dtypes.is_unsigned(dtype): value = abs(value)
    return self.node.const(value, dtype) if not self.is_weak(dtype) else self.node.const(value)

  def make(self, p: Any, wanted: Any) -> Any:
    """Returns a node for the pattern `p`, of the dtype `wanted` if the pattern leaves it open."""
    if p.name is not None and p.name in self.named: return self.named[p.name]
    if p.is_any: return self.make(self.random.choice(list(p.src[0])), wanted)
    dtype = wanted if p.match_dtype is None or wanted in p.match_dtype else self.random.choice(list(p.match_dtype))
    out = self.made(p, dtype)
    if p.name is not None: self.named[p.name] = out
    return out

  def made(self, p: Any, dtype: Any) -> Any:
    if p.op is None: return self.leaf(dtype)
    op, ops = self.random.choice(list(p.op)), self.ops
    if op is ops.CONST: return self.constant(dtype, p.arg)
    if op is ops.RANGE:
      ends = [self.make(s, dtype) for s in self.patterns(p, 0)]
      return self.node.range(ends[0] if ends else self.random.choice([1, 4, 6]), self.leaves)
    if op in self.groups.Comparison: return self.of_sources(p, op, [self.dtype] * 2)
    if op is ops.WHERE: return self.of_sources(p, op, [self.dtypes.bool, dtype, dtype])
    if op in self.groups.Unary: return self.of_sources(p, op, [dtype])
    if op in self.groups.Binary: return self.of_sources(p, op, [dtype] * 2)
    if op in self.groups.Ternary: return self.of_sources(p, op, [dtype] * 3)
    if op in (ops.CAST, ops.BITCAST):
      source = self.of(self.patterns(p, 1), [self.dtype])[0]
      to = dtype if p.match_dtype else self.random.choice([self.dtypes.int, self.dtypes.float, self.dtypes.bool, self.dtypes.half, self.dtypes.long])
      return source.cast(to) if op is ops.CAST else source.bitcast(to)
    if op is ops.LOAD: return self.of(self.patterns(p, 1), [dtype])[0].load()
    if op is ops.INDEX:
      sources = self.patterns(p, 2)
      buffer = self.node.placeholder((16,), dtype, 100 + self.leaves)
      self.leaves += 1
      if sources[0] is not None and sources[0].name: self.named.setdefault(sources[0].name, buffer)
      return buffer.index(self.make(sources[1], self.weak()) if sources[1] is not None else self.leaf(self.weak()))
    if op is ops.STORE:
      index, value = self.of(self.patterns(p, 2), [dtype, dtype])
      return index.store(value)
    raise Unmakeable(op.name)

  def weak(self) -> Any: return getattr(self.dtypes, "weakint", None) or self.dtypes.index

  def patterns(self, p: Any, count: int) -> list[Any]:
    """Returns the patterns of a node's sources; None for a source without a pattern."""
    if p.src is None: return [None] * count
    chosen = self.random.choice(p.src)
    if isinstance(chosen, itertools.repeat): return [next(chosen)] * max(1, count)
    return list(chosen) + [None] * (count - len(chosen))

  def of(self, patterns: list[Any], wanted: list[Any]) -> list[Node]:
    return [self.leaf(d) if s is None else self.make(s, d) for s, d in zip(patterns, wanted)]

  def of_sources(self, p: Any, op: Any, wanted: list[Any]) -> Any:
    first, *rest = self.of(self.patterns(p, len(wanted)), wanted)
    return first.alu(op, *rest)


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
        if (key := (id(pattern), getattr(function, "__code__", function))) in seen: continue
        seen.add(key)
        yield pattern, function


def instances_of(pattern: Any, function: Function) -> list[tuple[Node, Node]]:
  """Returns nodes that the pattern matches, and what the rule makes of them."""
  from tinygrad.dtype import dtypes
  from tinygrad.uop.ops import PatternMatcher
  matcher = PatternMatcher([(pattern, function)])
  weak = getattr(dtypes, "weakint", None) or dtypes.index
  kinds = [weak, dtypes.int, dtypes.float, dtypes.bool, dtypes.uint, dtypes.long, dtypes.half, dtypes.uchar]
  choose = random.Random(1)
  out: dict[tuple[Node, Node], None] = {}
  for n in range(MOST_TRIES):
    if len(out) >= MOST_INSTANCES: break
    try:
      before = Maker(kinds[n % len(kinds)], choose).make(pattern, kinds[n % len(kinds)])
      after = matcher.rewrite(before, {})
    except Unmakeable: break
    except Exception: continue  # the rule or a node does not accept these operands
    if after is not None and after is not before and hasattr(after, "src"): out[before, after] = None
  return list(out)


def write_rules(path: pathlib.Path, only: str) -> int:
  """Writes a recording of instances of all rules whose place contains `only`; returns the number of rules."""
  matches: list[tuple[Any, ...]] = []
  places = []
  for pattern, function in all_rules():
    place = rule_location(pattern)
    if only not in place or place.startswith("uop/spec.py"): continue
    places.append(place)
    matches += [(0, place, before, after, 0) for before, after in instances_of(pattern, function)]
  from tinygrad.uop.ops import UOp
  producer = f"tinygrad {installed_version()}"
  ast = UOp.sink(UOp.const(0))
  header = {"format": "tgc-golden", "version": 1, "level": "kernel", "producer": producer, "settings": {}}
  record: JSON = {"id": "rules", "target": "CPU:CLANG", "nodes": 2, "ast": graph_text(ast, producer),
                  "stages": [{"name": "rules", "same": True}], "rewrites": matches_json(matches),
                  "metadata": [{"name": place, "caller": ""} for place in places]}
  with gzip.open(path, "wt") as file: file.write(json.dumps(header) + "\n" + json.dumps(record) + "\n")
  return len(places)
