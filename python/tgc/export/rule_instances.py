"""Makes nodes that the pattern of a rule matches, by random choices."""
from __future__ import annotations

import inspect
import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

from tgc.export.kinds import Node

CONSTANTS = (0, 1, 2, -1, 3, 4, 7, 8, -2, 16, 255, 100, -8, 5, 1 << 20)
FLOATS = (0.0, 1.0, 2.0, -1.0, 0.5, 3.0, -2.5, 100.0)
SPECIAL = (math.nan, math.inf)
COUNTS = (0, 1, 2, 3, 5, 7, 8, 16, 31, 32, 40, 63)
INDEX_LIMIT = 1 << 40  # largest bound of a variable without a width
MOST_ITERATIONS = 1 << 14

OF_INTEGERS = {"AND", "OR", "XOR", "SHL", "SHR", "IDIV", "MOD", "CDIV", "CMOD", "FLOORDIV", "FLOORMOD", "THREEFRY"}
OF_BOOLS = {"AND", "OR", "XOR"}
OF_FLOATS = {"SQRT", "RECIPROCAL", "EXP2", "LOG2", "SIN", "FDIV", "POW"}


class Unmakeable(Exception):
  """The generator cannot make a node for a pattern."""


def admitted_dtypes(pattern: Any) -> Any:
  """Returns the dtypes that a pattern admits; None: all."""
  return pattern.match_dtype if hasattr(pattern, "match_dtype") else pattern.dtype


def known_options(options: Any) -> list[Any]:
  """Returns the options without the dtypes that tgc does not have."""
  return [o for o in options if not getattr(o, "name", "").endswith("fnuz")]


def is_invalid(node: Node) -> bool: return type(node.arg).__name__ in {"InvalidType", "_InvalidType"}


def constant_of(value: Any, dtype: Any = None) -> Any:
  from tinygrad.dtype import dtypes
  from tinygrad.uop.ops import UOp
  # before 0.14, the dtype comes first
  if next(iter(inspect.signature(UOp.const).parameters)) == "dtype": return UOp.const(dtype or getattr(dtypes, "weakint", None) or dtypes.index, value)
  return UOp.const(value, dtype) if dtype is not None else UOp.const(value)


class InstanceMaker:
  """Makes one node that a pattern matches, by choices that `choose` makes.

  `guards`: numbers to try, such as those in the rule's code. `changes`: numbers in place of those that are chosen, by
  their position in `numbers`. `is_odd`: also makes operands that few rules need."""

  def __init__(self, dtype: Any, choose: random.Random, guards: list[Any] | None = None, changes: dict[int, Any] | None = None,
               is_odd: bool = False) -> None:
    from tinygrad.dtype import dtypes
    from tinygrad.uop.ops import GroupOp, Ops, UOp
    self.dtypes, self.groups, self.ops, self.node = dtypes, GroupOp, Ops, UOp
    self.dtype, self.random = dtype, choose
    self.has_weak = hasattr(dtypes, "weakint")  # integers without a width are weakint (0.13 and later)
    self.named: dict[str, Node] = {}
    self.leaves = 0
    self.bounds: list[int] = []  # bounds of variables: constants at bounds show guards that are wrong by one
    self.guards, self.changes, self.is_odd = guards or [], changes or {}, is_odd
    self.makes_own_casts, self.makes_special, self.makes_sums = is_odd, False, False
    self.makes_weak_constants = False  # beside other operands, makes constants without a width, of any sign, if the release has them
    self.shared: tuple[Node, int] | None = None  # an index and a number, from which several operands are made
    self.loop: Node | None = None
    self.condition: Node | None = None
    self.integers: tuple[int, ...] = CONSTANTS  # the integers from which constants are chosen
    self.numbers: list[Any] = []

  def weak_dtype(self) -> Any: return getattr(self.dtypes, "weakint", None) or self.dtypes.index

  def is_weak(self, dtype: Any) -> bool: return getattr(dtype, "name", "") in {"weakint", "index"}

  def bits(self, dtype: Any) -> int: return 64 if self.is_weak(dtype) else int(dtype.bitsize)

  def noted_number(self, chosen: Any) -> Any:
    """Returns `chosen`, or the number of `changes` at this position, and adds it to `numbers`."""
    self.numbers.append(self.changes.get(len(self.numbers), chosen))
    return self.numbers[-1]

  def loop_size(self, chosen: int) -> int:
    if not 1 <= (out := self.noted_number(chosen)) <= MOST_ITERATIONS: raise Unmakeable("a loop without iterations, or with too many")
    return int(out)

  def make_variable(self, dtype: Any = None) -> Any:
    self.leaves += 1
    if dtype is None and self.random.random() < 0.3: return self.node.range(self.loop_size(self.random.choice([4, 6, 10])), self.leaves)
    low, high = self.random.choice([(0, 10), (-5, 6), (1, 100), (0, 3), (0, 1), (3, 3)])
    if (integers := [g for g in self.guards if isinstance(g, int)]) and self.random.random() < 0.25:
      edge = self.random.choice(integers)
      low, high = self.random.choice([(edge, edge + 9), (edge - 9, edge)])
    if dtype is not None and self.dtypes.is_unsigned(dtype): low, high = max(low, 0), max(high, 0)
    low, high = self.noted_number(low), self.noted_number(high)
    least, most = (-INDEX_LIMIT, INDEX_LIMIT) if dtype is None else (dtype.min, dtype.max)
    if not least <= low <= high <= most: raise Unmakeable("bounds of no variable")
    self.bounds += [low, high, high + 1]
    return self.node.variable(f"v{self.leaves}", low, high)

  def make_element(self, dtype: Any) -> Any:
    self.leaves += 1
    buffer = self.node.placeholder((16,), dtype, self.leaves)
    if self.loop is not None and self.random.random() < 0.5: return buffer.index(self.loop)
    return buffer.index(constant_of(self.random.randrange(16)))

  def wants_odd_value(self) -> bool: return self.is_odd and self.random.random() < 0.5

  def shared_expression(self) -> Any:
    """Returns an index that other operands contain, or a quotient or remainder of it, perhaps times the divisor."""
    if self.shared is None: self.shared = (self.make_variable(), self.noted_number(self.random.choice([2, 3, 4])))
    v: Any = self.shared[0]  # tinygrad's nodes have operators that Node does not declare
    c = self.shared[1]
    return [lambda: v % c, lambda: (v // c) * c, lambda: v // c, lambda: v, lambda: (v // c) % 4 * c][self.random.randrange(5)]()

  def sum_of_products(self) -> Any:
    terms = [self.make_variable() * self.noted_number(self.random.choice([1, 1, 2, 3, 4, 6, 8])) for _ in range(self.random.choice([2, 3]))]
    return sum(terms, start=constant_of(self.noted_number(self.random.choice([0, 0, 1, 5, -3]))))

  def index_expression(self) -> Any:
    if self.makes_sums and self.random.random() < 0.6: return self.sum_of_products()
    if self.wants_odd_value(): return self.shared_expression() if self.random.random() < 0.7 else self.make_element(self.dtypes.int).cast(self.weak_dtype())
    v, c = self.make_variable(), self.noted_number(self.random.choice([2, 3, 4, 6, 12]))
    kind = self.random.randrange(9)
    if kind < 4: return v
    return [v * c, v + c, v % c, v // c, v * c + self.make_variable()][kind - 4]

  def leaf(self, dtype: Any) -> Any:
    if self.random.random() < 0.15: return self.constant(dtype, None)
    if self.is_weak(dtype): return self.index_expression()
    if self.condition is not None and self.wants_odd_value():
      if dtype == self.dtypes.bool: return self.condition
      return self.condition.where(self.make_element(dtype), self.make_element(dtype))
    kind = self.random.randrange(8)
    if dtype == self.dtypes.bool and self.is_odd:
      self.condition = self.index_expression() < self.random.choice([1, 2, 4])
      return self.condition
    if dtype == self.dtypes.bool:
      if kind < 4: return self.make_element(dtype)
      below = self.index_expression() < self.random.choice([1, 2, 4])
      return below if kind < 6 else below & (self.make_variable() < 5)
    if kind == 5 and self.dtypes.is_int(dtype): return self.make_variable(dtype).cast(dtype)
    x = self.make_element(dtype)
    if kind == 6: return x + self.make_element(dtype)
    if kind == 7: return x * self.constant(dtype, None)
    return x

  def constant(self, dtype: Any, arg: Any) -> Any:
    value = arg
    if type(value).__name__ in {"InvalidType", "_InvalidType"}: return constant_of(value)
    if value is None:
      is_float = self.dtypes.is_float(dtype)
      floats = (*FLOATS, *SPECIAL) if self.makes_special else FLOATS
      value = self.random.choice(floats if is_float else self.integers)
      if self.is_weak(dtype) and self.bounds and self.random.random() < 0.5: value = self.random.choice(self.bounds)
      elif (guards := [g for g in self.guards if is_float or isinstance(g, int)]) and self.random.random() < 0.3: value = self.random.choice(guards)
      has_width = not is_float and not self.is_weak(dtype) and dtype != self.dtypes.bool
      if has_width and self.makes_weak_constants:
        is_negative = self.dtypes.is_unsigned(dtype) and len(self.numbers) % 2 == 1  # so that both signs occur
        return self.weak_constant(self.noted_number(-abs(value) if is_negative else value), dtype)
      if dtype == self.dtypes.bool: value = bool(int(value) & 1)
      elif self.dtypes.is_unsigned(dtype): value = abs(value)
      if has_width: value = max(dtype.min, min(value, dtype.max))
      value = self.noted_number(float(value) if is_float else value)
      if has_width and not dtype.min <= value <= dtype.max: raise Unmakeable("a constant that its dtype does not hold")
    elif self.dtypes.is_unsigned(dtype) and value < 0:
      if self.has_weak or self.makes_weak_constants: return self.weak_constant(value, dtype)
      raise Unmakeable("a negative constant of an unsigned dtype")
    elif self.makes_weak_constants and self.dtypes.is_int(dtype): return self.weak_constant(value, dtype)
    out = constant_of(value, None if self.is_weak(dtype) else dtype)
    # some dtypes do not hold the constant, as bool does not hold -1
    if arg is not None and out.arg != arg: raise Unmakeable("a constant that its dtype does not hold")
    return out

  def weak_constant(self, value: int, dtype: Any) -> Any:
    """Returns a constant that stands beside operands of the dtype, without a width if `has_weak`. Raises Unmakeable if
    it needs more bits than the dtype has; it may be negative beside unsigned operands."""
    least = -(1 << (self.bits(dtype) - 1)) if self.dtypes.is_unsigned(dtype) else dtype.min
    if not self.is_weak(dtype) and not least <= value <= dtype.max: raise Unmakeable("a constant that its dtype does not hold")
    return constant_of(value, None if self.has_weak else dtype)

  def choice(self, options: Any) -> Any: return self.random.choice(known_options(options))

  def make(self, p: Any, wanted: Any) -> Any:
    """Returns a node for the pattern `p`. `wanted`: its dtype, unless the pattern or its ops choose another."""
    if p is None: return self.leaf(wanted)
    if p.name is not None and p.name in self.named: return self.named[p.name]
    if p.is_any: return self.make(self.random.choice(list(p.src[0])), wanted)
    if getattr(p, "match_tag", None): raise Unmakeable("tag")
    dtypes = admitted_dtypes(p)
    dtype = wanted if dtypes is None or wanted in dtypes else self.choice(dtypes)
    out = self.make_matching_node(p, dtype, dtypes is not None)
    if p.name is not None: self.named[p.name] = out
    return out

  def make_matching_node(self, p: Any, dtype: Any, has_dtype: bool) -> Any:
    if p.op is None: return self.constant(dtype, p.arg) if p.arg is not None else self.leaf(dtype)
    op, ops = self.choice(p.op), self.ops
    if op is ops.CONST: return self.constant(dtype, p.arg)
    if op is ops.RANGE:
      ends = self.patterns(p, 1)
      end = self.loop_size(self.random.choice([1, 4, 6])) if ends[0] is None else self.make(ends[0], self.weak_dtype())
      self.leaves += 1
      return self.node.range(end, self.leaves)
    if op.name in OF_INTEGERS and (self.dtypes.is_float(dtype) or (dtype == self.dtypes.bool and op.name not in OF_BOOLS)): dtype = self.dtypes.int
    if op.name in OF_FLOATS and not self.dtypes.is_float(dtype): dtype = self.dtypes.float
    if op in self.groups.Comparison: return self.make_from_sources(p, op, [self.compared_dtype()] * 2)
    if op is ops.WHERE: return self.make_from_sources(p, op, [self.dtypes.bool, dtype, dtype])
    if op in self.groups.Unary: return self.make_from_sources(p, op, [self.dtype_of_float_operand() if op.name in OF_FLOATS and self.wants_odd_value() else dtype])
    if op in self.groups.Binary: return self.make_from_sources(p, op, [dtype] * 2)
    if op in self.groups.Ternary: return self.make_from_sources(p, op, [dtype] * 3)
    if op in (ops.CAST, ops.BITCAST): return self.cast(p, op, dtype, has_dtype)
    return self.make_other_op(p, op, dtype)

  def dtype_of_float_operand(self) -> Any: return self.dtypes.int
  def compared_dtype(self) -> Any: return self.choice([self.dtype, self.dtype, self.dtype, self.weak_dtype(), self.dtypes.int, self.dtypes.float])

  def cast_kinds(self) -> list[Any]:
    d = self.dtypes
    return [d.int, d.float, d.half, d.long, d.short, d.uchar, d.uint, d.char, d.ushort, d.ulong, d.double, d.bool, self.dtype, self.dtype]

  def cast(self, p: Any, op: Any, dtype: Any, has_dtype: bool) -> Any:
    kinds = self.cast_kinds()
    inner = self.patterns(p, 1)[0]
    chooses_itself = inner is not None and inner.op is not None and all(o.name in ("CAST", "BITCAST") for o in inner.op)
    source = self.make(inner, self.choice((inner is not None and admitted_dtypes(inner)) or ([dtype] if chooses_itself else kinds)))
    if op is self.ops.BITCAST and not has_dtype:
      kinds = [k for k in kinds if k.itemsize == source.dtype.itemsize and k != source.dtype and not self.is_weak(k)]
      if not kinds: raise Unmakeable("a dtype without another of its size")
    to = dtype if has_dtype else self.choice(kinds)
    if self.is_weak(to) and self.dtypes.is_float(source.dtype): raise Unmakeable("an index of a float")
    if op is self.ops.CAST and not has_dtype and self.wants_odd_value(): to = source.dtype
    made = source.cast(to) if op is self.ops.CAST else source.bitcast(to)
    if made is not source: return made
    if not self.makes_own_casts: raise Unmakeable("a cast to its own dtype")
    other = source.cast(next(k for k in kinds if k != to))
    return other.replace(dtype=None, arg=to) if type(other.arg) is type(to) else other.replace(dtype=to)

  def make_other_op(self, p: Any, op: Any, dtype: Any) -> Any:
    ops = self.ops
    if op is ops.LOAD:
      first, *rest = self.patterns(p, 1)
      index = self.make_element(dtype) if first is None else self.make(first, dtype)
      return index.load(*[self.make(s, self.dtypes.bool if i else dtype) for i, s in enumerate(rest)])
    if op is ops.INDEX:
      memory, *at = self.patterns(p, 2)
      buffer = self.node.placeholder((16,), dtype, 100 + self.leaves)
      if memory is not None and memory.op is not None: buffer = self.make(memory, dtype)
      elif memory is not None and memory.name: buffer = self.named.setdefault(memory.name, buffer)
      self.leaves += 1
      return buffer.index(*[self.make(s, self.weak_dtype()) for s in at])
    if op is ops.STORE:
      place, value, *rest = self.patterns(p, 2)
      index = self.make_element(dtype) if place is None else self.make(place, dtype)
      return index.store(self.make(value, dtype), *[self.make(s, self.dtypes.bool) for s in rest])
    if op is not None and op.name in ("STACK", "VECTORIZE"):
      sources = self.patterns(p, 0)
      if sources: sources = sources * (self.random.choice([2, 3, 4]) if len(sources) == 1 else 1)
      parts = [self.make(s, dtype) for s in sources] or [self.constant(dtype, None) for _ in range(2)]
      if self.is_odd and not sources:
        from tinygrad.dtype import Invalid
        parts[0] = constant_of(Invalid, dtype)
      return self.node(op, src=tuple(parts)) if op.name == "STACK" else parts[0].vectorize(*parts[1:])
    if op is ops.AFTER:
      memory, *rest = self.patterns(p, 1)
      buffer = self.node.placeholder((16,), dtype, 100) if memory is None else self.make(memory, dtype)
      store = self.make_element(dtype).store(self.make_element(dtype))
      return buffer.after(*([self.make(s, dtype) for s in rest] or ([store] if not p.strict_length else [])))
    if op is ops.REDUCE:
      value, *ranges = self.patterns(p, 1)
      loops = [self.make(r, self.weak_dtype()) for r in ranges] or [self.node.range(self.random.choice([3, 4]), 90)]
      self.named.setdefault("loop", loops[0])
      kind = p.arg[0] if isinstance(p.arg, tuple) else p.arg or ops.ADD
      if loops[0].op is ops.RANGE and loops[0].vmax < 16: self.loop = loops[0]
      made = self.make(value, dtype)
      self.loop = None
      return made.reduce(*loops, arg=kind)
    if op in (ops.GROUP, ops.SINK):
      sources = [self.make(s, dtype) if s is not None and s.op is not None else self.make_element(dtype).store(self.make_element(dtype))
                 for s in (self.patterns(p, 2) or [None])]
      return self.node(op, src=tuple(sources)) if op is ops.GROUP else self.node.sink(*sources)
    raise Unmakeable(op.name)

  def patterns(self, p: Any, count: int) -> list[Any]:
    if p.src is None: return [None] * count
    chosen = self.random.choice(p.src)
    if isinstance(chosen, itertools.repeat): return [next(chosen)] * max(1, count)
    return list(chosen) + [None] * (count - len(chosen))

  def makes_weak(self, dtype: Any) -> bool:
    """Returns True if the next operand has no width. `dtype`: that of the operands before it; None for the first."""
    return bool(self.is_odd and dtype is not None and self.dtypes.is_int(dtype) and self.random.random() < 0.3)

  def is_weak_constant(self, node: Node) -> bool:
    return node.op is self.ops.CONST and self.is_weak(node.dtype) and self.has_weak

  def make_from_sources(self, p: Any, op: Any, wanted: list[Any]) -> Any:
    """Returns a node of the op. Makes the operands that the pattern constrains most first; the others have the same
    dtype, except a condition, Invalid, and operands without a width."""
    patterns = self.patterns(p, len(wanted))
    def freedom(i: int) -> int:
      part = patterns[i]
      if part is not None and part.is_any: return 1  # one of its alternatives may choose the dtype
      if part is None or part.op is None: return 2 if part is None or admitted_dtypes(part) is None else 0
      return 3 if part.op[0].name == "CONST" else 1
    made: dict[int, Any] = {}
    dtype = None
    for i in sorted(range(len(wanted)), key=freedom):
      is_condition = op is self.ops.WHERE and i == 0
      is_weak = not is_condition and self.makes_weak(dtype)
      self.integers = COUNTS if op.name in ("SHL", "SHR") and i == 1 else CONSTANTS
      made[i] = self.make(patterns[i], self.weak_dtype() if is_weak else wanted[i] if dtype is None or is_condition else dtype)
      if (is_weak and self.is_weak(made[i].dtype)) or (dtype is not None and self.dtypes.is_int(dtype) and self.is_weak_constant(made[i])): continue
      if not is_condition and dtype is None: dtype = made[i].dtype
      if not is_condition and made[i].dtype != dtype and not is_invalid(made[i]): raise Unmakeable("operands of several dtypes")
    self.integers = CONSTANTS
    if op.name in ("SHL", "SHR") and made[1].op is self.ops.CONST and made[1].arg >= self.bits(made[0].dtype): raise Unmakeable("a shift by too much")
    return made[0].alu(op, *[made[i] for i in range(1, len(wanted))])


def patterns_below(pattern: Any) -> Iterator[Any]:
  """Yields a pattern and the patterns below it; if a pattern has several orders of sources, those of the first."""
  parts = [pattern]
  while parts:
    yield (p := parts.pop())
    chosen = p.src[0] if p.src else ()
    parts += [next(chosen)] if isinstance(chosen, itertools.repeat) else list(chosen)
