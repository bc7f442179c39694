"""Unknown values for which the function of a rule runs: it may build nodes of them, and compare constants and bounds.
Comparisons, and some other questions, are decided both ways, one in each run; the runs keep as conditions what was
decided of constants and bounds. A function that could learn more of an operand than its dtype and what the pattern
fixes is refused, so that what it makes is the same for all operands and constants for which the conditions hold."""
from __future__ import annotations

import functools
import math
import operator
from typing import Any

from tgc.export.kinds import Function, Node
from tgc.export.rule_instances import constant_of, is_invalid

MOST_CHOICES = 24
MOST_RUNS = 256
# Methods that build nodes, and depend on nothing of their operands but dtypes.
BUILDERS = {"alu", "where", "cast", "bitcast", "const_like", "logical_not", "ne", "eq", "maximum", "minimum", "reciprocal", "valid", "neg", "trunc",
            "sqrt", "exp2", "log2", "sin"}
OPERATORS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "mod": operator.mod,
             "truediv": operator.truediv, "and": operator.and_, "or": operator.or_, "xor": operator.xor, "lshift": operator.lshift,
             "rshift": operator.rshift}
COMPARISONS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
# Methods that Python calls on an object for which an unknown value has no answer, such as its number, text or hash.
REFUSED = ("bool", "hash", "index", "int", "float", "complex", "iter", "next", "len", "getitem", "contains", "call", "str", "repr", "format", "round",
           "trunc", "floor", "ceil", "pow", "rpow", "divmod", "rdivmod", "matmul", "rmatmul", "abs", "neg", "pos", "invert", "reduce_ex", "bytes")


class NotGeneral(BaseException):  # not an Exception: the function of a rule may catch those
  """The function of a rule looks at its operands, or is not understood."""


def raw_attribute(thing: Any, member: str) -> Any: return object.__getattribute__(thing, member)
def is_unknown(thing: Any) -> bool: return type(thing) in (UnknownValue, UnknownNumber, UnknownOp, UnknownKey, UnknownParts)


def contains_unknown(thing: Any) -> bool:
  if is_unknown(thing): return True
  if isinstance(thing, dict): return any(map(contains_unknown, (*thing.keys(), *thing.values())))
  return isinstance(thing, (tuple, list, set, frozenset)) and any(map(contains_unknown, thing))


class RuleRun:
  """One run of a rule's function.

  `choices` are its first decisions; more are added as they are made. `counts`: for a node that is the count of a shift,
  the bits of the shifted operand. `fixed` are the nodes whose op the pattern fixes, `constants` those that it captures
  as constants, `names` what the rule calls nodes."""

  def __init__(self, choices: list[int], counts: dict[Node, int], fixed: set[Node], constants: set[Node], names: dict[Node, str], unknown: Function) -> None:
    self.choices, self.options, self.conditions = choices, list[int](), list[Node]()
    self.counts = counts
    self.fixed, self.constants, self.names, self.unknown = fixed, constants, names, unknown
    self.values: dict[Node, UnknownValue] = {}
    self.bounds: dict[tuple[Node, str], UnknownNumber] = {}
    self.refused: str | None = None
    self.reads_sources = self.makes_constants = self.rounds_twice = False
    self.invalid: dict[Node, bool] = {}
    self.known: dict[Node, Node] = {}  # operands that have one value in this run

  def refuse(self, why: str) -> Any:
    self.refused = why
    raise NotGeneral(why)

  def decide(self, if_true: Node | None = None, if_false: Node | None = None) -> bool:
    """Returns True in one run and False in another, and notes the condition under which the function decides so."""
    chosen = self.pick(2) == 0
    if (condition := if_true if chosen else if_false) is not None: self.conditions.append(condition)
    return chosen

  def pick(self, options: int) -> int:
    """Returns a number below `options`, in each run another one."""
    if len(self.options) == len(self.choices):
      if len(self.choices) == MOST_CHOICES: self.refuse("it makes too many decisions")
      self.choices.append(0)
    self.options.append(options)
    return self.choices[len(self.options) - 1]

  def set_constant(self, captured: Node, value: int) -> None: self.known[captured] = constant_of(value, captured.dtype)

  def picked_count(self, captured: Node) -> int:
    """Returns the count of a shift, in each run another one below the bits of the operand; the captured constant
    becomes it."""
    if captured not in self.known: self.set_constant(captured, self.pick(self.counts.get(captured, 64)))
    return int(self.known[captured].arg)

  def pick_power_of_two(self, number: Any) -> None:
    """Makes the captured integer constants of this value a power of two, in each run another one; in one run, numbers
    below 1."""
    from tinygrad.dtype import dtypes
    for captured in self.constants - self.known.keys():
      if dtypes.is_float(captured.dtype) or raw_attribute(UnknownNumber.of(self, captured), "node") is not number: continue
      powers = 63 if captured.dtype == number.dtype else captured.dtype.max.bit_length()
      if (power := self.pick(powers + 1)) < powers: self.set_constant(captured, 1 << power)
      else: self.conditions.append(number < 1)

  def is_invalid(self, node: Node) -> bool:
    """Returns True if an operand is Invalid: in one run it is, in another it is not. If the pattern fixes its op, tests
    the operand itself."""
    if node in self.fixed: return is_invalid(node)
    if node not in self.invalid:
      self.invalid[node] = self.decide()
      if self.invalid[node]:
        from tinygrad.dtype import Invalid
        self.known[node] = constant_of(Invalid)
    return self.invalid[node]

  def sides(self, before: Any, after: Any) -> tuple[Any, Any]:
    """Returns both sides; where the conditions of this run do not hold, both are 0."""
    if self.conditions:
      when: Any = functools.reduce(operator.and_, self.conditions)
      before, after = when.where(before, before.const_like(0)), when.where(after, after.const_like(0))
    return (before.substitute(self.known), after.substitute(self.known)) if self.known else (before, after)

  def substitute_unknown(self, value: Any, pairs: list[tuple[Any, Any]]) -> Any:
    """Answers `value.substitute(dict(pairs))`. If there are unknown nodes, the answer is `value` where each node equals
    its replacement, and Invalid elsewhere, so that no proof uses it."""
    if not contains_unknown([value, pairs]): return value.substitute(dict(pairs))
    from tinygrad.dtype import Invalid, dtypes
    out = self.nodes(value)
    for node, replacement in self.nodes(pairs):
      if dtypes.is_float(node.dtype) or node.dtype != replacement.dtype: self.refuse("it substitutes for a float or another dtype")
      out = node.ne(replacement).where(constant_of(Invalid), out)
    return self.wrap_nodes(out)

  def value(self, node: Node) -> UnknownValue:
    if node not in self.values: self.values[node] = UnknownValue(self, node)
    return self.values[node]

  def wrap_nodes(self, thing: Any) -> Any:
    if is_unknown(thing): return thing
    if type(thing) in (tuple, list): return type(thing)(map(self.wrap_nodes, thing))
    return self.value(thing) if hasattr(thing, "toposort") else thing

  def nodes(self, thing: Any, dtype: Any = None) -> Any:
    if type(thing) is UnknownValue: return raw_attribute(thing, "node")
    if type(thing) is UnknownNumber: return self.constant(thing, dtype)
    if type(thing) is UnknownOp: self.refuse("it builds a node with the op of an operand")
    return type(thing)(self.nodes(t, dtype) for t in thing) if type(thing) in (tuple, list) else thing

  def constant(self, number: UnknownNumber, dtype: Any) -> Any:
    from tinygrad.dtype import dtypes
    node, captured = raw_attribute(number, "node"), raw_attribute(number, "captured")
    self.makes_constants = True
    if captured is not None and captured.dtype == dtype: return captured
    is_float, makes_float = raw_attribute(number, "is_float"), dtype is not None and dtypes.is_float(dtype)
    is_rounded = constant_of(0.1, dtypes.half).arg != 0.1  # whether tinygrad rounds a constant to its dtype
    if dtype is None or getattr(dtype, "name", "") == "weakfloat" or ((is_float or makes_float) and (captured is None or not is_rounded)):
      self.refuse("it makes a constant of another dtype")
    if dtype == dtypes.bool: return node.ne(node.const_like(0))
    if makes_float and not is_float and dtype != dtypes.double and (captured.dtype == node.dtype or captured.dtype.itemsize > 4):
      self.rounds_twice = True
    if is_float and dtype == getattr(dtypes, "weakint", None): self.refuse("it makes an integer without a width of a float")
    return node if dtype == node.dtype else node.cast(dtype)

  def unknown_bound(self, node: Node, which: str) -> UnknownNumber:
    """Returns an unknown number that is a bound of the node's value."""
    from tinygrad.dtype import dtypes
    weak = getattr(dtypes, "weakint", None) or dtypes.index
    if node in self.constants: return UnknownNumber.of(self, node)
    is_float = dtypes.is_float(node.dtype)
    is_simple = node not in self.fixed or (node.dtype == dtypes.bool and not self.fixed.intersection(node.src))
    if node.dtype != weak and not dtypes.is_int(node.dtype) and not is_float and (node.dtype != dtypes.bool or not is_simple):
      self.refuse(f"it reads a bound of {self.name_of(node)}, which is {node.op.name}")
    if (node, which) not in self.bounds:
      value, limit = node if is_float else unbounded_value(node, weak, node in self.fixed), self.unknown(node.dtype if is_float else weak)
      if value is None: self.refuse(f"it reads a bound of {self.name_of(node)}, which is {node.op.name}")
      # if the count is no constant, the bounds are those of the dtype
      if node in self.fixed and node.op.name == "SHL" and not self.decide():
        self.conditions.append(limit.ne(constant_of(getattr(node.dtype, "min" if which == "vmin" else "max"))).logical_not())
        value = node.cast(weak)
      if not is_float or is_simple: self.conditions.append((value < limit if which == "vmin" else limit < value).logical_not())
      self.bounds[node, which] = UnknownNumber(self, limit, None, is_float, node.dtype == dtypes.bool)
    return self.bounds[node, which]

  def name_of(self, node: Node) -> str: return f"'{self.names[node]}'" if node in self.names else "a part of an operand"

  # The code of a rule calls these two functions in place of `is` and `in` (general_rules).

  def is_same(self, a: Any, b: Any) -> bool:
    if not is_unknown(a) and not is_unknown(b): return a is b
    if a is b: return True
    if a is None or b is None: return False
    if UnknownNumber in (type(a), type(b)): self.refuse("it compares a constant by identity")
    if type(a) is type(b) is UnknownValue or UnknownOp in (type(a), type(b)): return self.decide()  # may be the same operand
    return bool(self.refuse("it compares an operand with another object"))

  def is_in(self, a: Any, among: Any) -> bool:
    if type(a) is UnknownOp: return self.decide()
    if type(among) is UnknownParts: return self.decide()
    if is_unknown(among): self.refuse("it looks for something in an operand")
    if is_unknown(a): return any(self.is_same(a, b) if type(a) is UnknownValue else a == b for b in list(among))
    return bool(a in among)


def unbounded_value(node: Node, weak: Any, is_fixed: bool) -> Any:
  """Returns the value that lies within the bounds of an integer: tinygrad computes the bounds of a sum or a product
  without an overflow. Returns None for other ops that may overflow."""
  if node.dtype == weak: return node
  if not is_fixed or node.op.name in ("AND", "OR", "XOR", "SHR", "MAX", "FLOORMOD", "CMOD", "MOD", "CMPLT", "CMPNE", "CMPEQ", "POW", "THREEFRY", "FDIV"): return node.cast(weak)
  if node.op.name not in ("ADD", "SUB", "MUL", "FLOORDIV", "CDIV", "IDIV", "SHL"): return None
  return node.src[0].cast(weak).alu(node.op, node.src[1].cast(weak))


class UnknownValue:
  """An unknown value, as a node of a graph whose leaves are unknown."""
  __slots__ = ("node", "run")

  def __init__(self, run: RuleRun, node: Node) -> None:
    object.__setattr__(self, "run", run)
    object.__setattr__(self, "node", node)

  def __setattr__(self, name: str, value: Any) -> None: raw_attribute(self, "run").refuse("it changes an operand")

  def __getattribute__(self, name: str) -> Any:
    run, node = raw_attribute(self, "run"), raw_attribute(self, "node")
    is_fixed = node in run.fixed
    if name == "dtype": return node.dtype
    if name in ("val", "arg") and node in run.constants: return UnknownNumber.of(run, node)
    if name == "op":
      from tinygrad.uop.ops import Ops
      return node.op if is_fixed else Ops.CONST if node in run.constants and not hasattr(Ops, "VCONST") else UnknownOp(run)
    if name == "src" and is_fixed:
      run.reads_sources = True
      return run.wrap_nodes(node.src)
    if name in ("val", "arg") and is_fixed and node.op.name == "CONST": return node.arg
    if name == "val" and not is_fixed: return UnknownNumber.of(run, node)  # only constants have one: this operand is a constant
    if name in ("vmin", "vmax"): return run.unknown_bound(node, name)
    if name == "overflows": return lambda dtype: run.unknown_bound(node, "vmin") < dtype.min or run.unknown_bound(node, "vmax") > dtype.max
    if name == "is_invalid": return run.is_invalid(node)
    if name in ("bool_slice", "backward_slice", "backward_slice_with_self") and not is_fixed: return UnknownParts(run)
    if name == "op_in_backward_slice_with_self" and not is_fixed: return lambda *_: run.decide()
    if name == "tuplize": return UnknownKey(run)
    if name == "simplify": return lambda: self  # applies other rules, which keep the value
    if name in BUILDERS or (name == "replace" and is_fixed):
      def build(*args: Any, **members: Any) -> Any:
        if name == "replace" and not members.keys() <= {"src", "dtype"}: run.refuse("it replaces more of a node than sources")
        dtype = None if name == "where" else node.dtype
        if name == "const_like": dtype = next((a for a in (*args[1:], *members.values()) if not is_unknown(a)), dtype)
        return run.wrap_nodes(getattr(node, name)(*run.nodes(args, dtype), **{k: run.nodes(v, dtype) for k, v in members.items()}))
      return build
    return run.refuse(f"it looks at '{name}' of {run.name_of(node)}")

  def __neg__(self) -> Any: return raw_attribute(self, "run").wrap_nodes(-raw_attribute(self, "node"))
  def __invert__(self) -> Any: return raw_attribute(self, "run").wrap_nodes(~raw_attribute(self, "node"))
  def __ne__(self, other: object) -> Any: return combine_values(self, other, operator.ne, False)

  def __eq__(self, other: object) -> bool: return bool(raw_attribute(self, "run").is_same(self, other))


def combine_values(self: UnknownValue, other: Any, compute: Function, is_reflected: bool) -> Any:
  run, node = raw_attribute(self, "run"), raw_attribute(self, "node")
  other = run.nodes(other, node.dtype)
  if hasattr(other, "toposort") or isinstance(other, (bool, int, float)):
    return run.wrap_nodes(compute(other, node) if is_reflected else compute(node, other))
  return run.refuse("it computes with an operand and another object")


class UnknownNumber:
  """The value of a captured constant, a bound of an operand, or an integer computed of such: `node` has exactly this
  value. `captured`: the constant, if this is its value."""
  __slots__ = ("captured", "is_bound_of_bool", "is_float", "node", "run")

  def __init__(self, run: RuleRun, node: Node, captured: Node | None = None, is_float: bool = False, is_bound_of_bool: bool = False) -> None:
    for name, value in (("run", run), ("node", node), ("captured", captured), ("is_float", is_float), ("is_bound_of_bool", is_bound_of_bool)): object.__setattr__(self, name, value)

  @staticmethod
  def of(run: RuleRun, captured: Node) -> UnknownNumber:
    from tinygrad.dtype import dtypes
    if dtypes.is_float(captured.dtype): return UnknownNumber(run, captured, captured, True)
    return UnknownNumber(run, captured.cast(getattr(dtypes, "weakint", None) or dtypes.index), captured)

  def __setattr__(self, name: str, value: Any) -> None: raw_attribute(self, "run").refuse("it changes a number")
  def __getattribute__(self, name: str) -> Any: return raw_attribute(self, "run").refuse(f"it looks at '{name}' of a constant")

  def __bool__(self) -> bool: return self != 0
  def __neg__(self) -> Any: return compute_integer(self, -1, operator.mul, False)
  def __abs__(self) -> Any: return -self if compare_unknown(self, 0, operator.lt, False) else self

  def __eq__(self, other: object) -> bool:
    run, node = raw_attribute(self, "run"), raw_attribute(self, "node")
    if other is None or type(other) is str: return False
    other = integer_of(self, other)
    if raw_attribute(self, "is_float"):  # the dtype may round the constant later: note only what holds then too
      return bool(run.decide(node.ne(as_float(node, other)).logical_not() if is_exact(other) else None))
    different = node.ne(other if hasattr(other, "toposort") else constant_of(other))
    is_equal = bool(run.decide(different.logical_not(), different))
    if is_equal and type(other) is int and other == 0 and node.op.name == "AND" and node.src[1] is node.src[0] - constant_of(1):
      run.pick_power_of_two(node.src[0])  # x & (x - 1) == 0
    return is_equal

  def __ne__(self, other: object) -> bool: return not self == other


def is_exact(number: Any) -> bool:
  """Returns True for a node, an infinity, and some small numbers that each dtype of floats has."""
  return hasattr(number, "toposort") or isinstance(number, (int, float)) and (math.isinf(number) or abs(number) in (0, 0.5, 1, 2, 4, 8))


def as_float(node: Node, number: Any) -> Any: return number if hasattr(number, "toposort") else node.const_like(number)


def integer_of(number: UnknownNumber, other: Any) -> Any:
  """Returns the other operand as a Python number or, for a UnknownNumber of the same dtype, as its node. Refuses other
  operands; only a float UnknownNumber accepts fractions."""
  run = raw_attribute(number, "run")
  if type(other) is UnknownNumber and raw_attribute(other, "node").dtype == raw_attribute(number, "node").dtype: return raw_attribute(other, "node")
  if type(other) in (bool, int): return int(other)
  if type(other) is float and raw_attribute(number, "is_float"): return other
  if type(other) is float and math.isfinite(other) and other == int(other): return int(other)
  return run.refuse("it compares a constant with something that is no integer")


def compute_integer(self: UnknownNumber, other: Any, compute: Function, is_reflected: bool) -> Any:
  """Computes with an integer. Refuses floats, because Python's floats have the precision of doubles."""
  run = raw_attribute(self, "run")
  if type(other) is UnknownValue: return NotImplemented
  count = self if is_reflected else other
  if compute in (operator.lshift, operator.rshift) and type(count) is UnknownNumber and (captured := raw_attribute(count, "captured")) is not None:
    if is_reflected and type(other) is int: return compute(other, run.picked_count(captured))
    if not is_reflected: other = run.picked_count(captured)
  other = integer_of(self, other)
  if raw_attribute(self, "is_float") or compute is operator.truediv: run.refuse("it computes with the value of a constant")
  a, b = raw_attribute(self, "node"), other if hasattr(other, "toposort") else constant_of(other)
  if is_reflected: a, b = b, a
  if compute in (operator.floordiv, operator.mod):
    from tinygrad.uop.ops import Ops
    if not hasattr(Ops, "FLOORDIV"): run.refuse("it divides the value of a constant")
    run.conditions.append(b.ne(constant_of(0)))  # otherwise Python raises an error
    return UnknownNumber(run, a.alu(Ops.FLOORDIV if compute is operator.floordiv else Ops.FLOORMOD, b))
  if compute in (operator.lshift, operator.rshift):  # an operand has at most 64 bits
    if not hasattr(b, "toposort") and not 0 <= b < 64: run.refuse("it shifts the value of a constant")
    if hasattr(b, "toposort"): run.conditions.append((b < 64) & (b < 0).logical_not())
    from tinygrad.uop.ops import Ops
    a, b = (n if hasattr(n, "toposort") else constant_of(n) for n in (a, b))
    return UnknownNumber(run, a.alu(Ops.SHL if compute is operator.lshift else Ops.SHR, b))
  return UnknownNumber(run, compute(a, b))


def compare_unknown(self: UnknownNumber, other: Any, compare: Function, _: bool) -> Any:
  run, node = raw_attribute(self, "run"), raw_attribute(self, "node")
  if type(other) is UnknownValue: return NotImplemented
  if type(other) is float and math.isinf(other) and not raw_attribute(self, "is_float"): return compare(0, other)
  other = integer_of(self, other)
  is_less = compare in (operator.lt, operator.le)
  if raw_attribute(self, "is_float"):  # rounding to the dtype keeps the order, but may make numbers equal
    if not is_exact(other): return run.decide()
    below, above = node < as_float(node, other), as_float(node, other) < node
    return run.decide((above if is_less else below).logical_not(), (below if is_less else above).logical_not())
  b = other if hasattr(other, "toposort") else constant_of(other)
  holds = {operator.lt: lambda: node < b, operator.gt: lambda: b < node, operator.le: lambda: (b < node).logical_not(),
           operator.ge: lambda: (node < b).logical_not()}[compare]()  # type: ignore[no-untyped-call]
  return run.decide(holds, holds.logical_not())


class UnknownOp:
  __slots__ = ("run",)

  def __init__(self, run: RuleRun) -> None: object.__setattr__(self, "run", run)
  def __setattr__(self, name: str, value: Any) -> None: raw_attribute(self, "run").refuse("it changes an op")
  def __getattribute__(self, name: str) -> Any: return raw_attribute(self, "run").refuse("it looks at the op of an operand")
  def __eq__(self, other: object) -> bool: return bool(raw_attribute(self, "run").decide())
  def __ne__(self, other: object) -> bool: return not self == other


class UnknownKey:
  __slots__ = ("run",)

  def __init__(self, run: RuleRun) -> None: object.__setattr__(self, "run", run)
  def __setattr__(self, name: str, value: Any) -> None: raw_attribute(self, "run").refuse("it changes the order of nodes")
  def __getattribute__(self, name: str) -> Any: return raw_attribute(self, "run").refuse("it looks at what nodes are sorted by")
  def __eq__(self, other: object) -> bool: return bool(raw_attribute(self, "run").decide())
  def __ne__(self, other: object) -> bool: return not self == other


class UnknownParts:
  __slots__ = ("run",)

  def __init__(self, run: RuleRun) -> None: object.__setattr__(self, "run", run)
  def __setattr__(self, name: str, value: Any) -> None: raw_attribute(self, "run").refuse("it changes the parts of an operand")
  def __getattribute__(self, name: str) -> Any: return raw_attribute(self, "run").refuse("it looks at the parts of an operand")
  def __eq__(self, other: object) -> bool: return bool(raw_attribute(self, "run").refuse("it compares the parts of an operand"))


def is_bound_of_bool(number: UnknownNumber) -> bool: return bool(raw_attribute(number, "is_bound_of_bool"))


def number_type(number: UnknownNumber) -> type:
  from tinygrad.dtype import dtypes
  captured = raw_attribute(number, "captured")
  return float if raw_attribute(number, "is_float") else bool if captured is not None and captured.dtype == dtypes.bool else int


def is_special(number: UnknownNumber, is_nan: bool) -> bool:
  if not raw_attribute(number, "is_float"): return False
  run, node = raw_attribute(number, "run"), raw_attribute(number, "node")
  number_is = node.ne(node) if is_nan else (node.ne(node.const_like(math.inf)) & node.ne(node.const_like(-math.inf))).logical_not()
  return bool(run.decide(number_is, number_is.logical_not()))


def install() -> None:
  """Defines the operators of UnknownValue and UnknownNumber and the comparisons of UnknownKey, and refuses the others."""
  def operator_method(kind: type, how: Function, of: Function, is_reflected: bool) -> Any:
    return lambda self, other: how(self, other, of, is_reflected)
  for name, of in OPERATORS.items():
    kinds: list[tuple[type, Function]] = [(UnknownValue, combine_values), (UnknownNumber, compute_integer)]
    for kind, how in kinds:
      setattr(kind, f"__{name}__", operator_method(kind, how, of, False))
      setattr(kind, f"__r{name}__", operator_method(kind, how, of, True))
  for name, of in COMPARISONS.items():
    of_kinds: list[tuple[type, Function]] = [(UnknownValue, combine_values), (UnknownNumber, compare_unknown)]
    for kind, how in of_kinds: setattr(kind, f"__{name}__", operator_method(kind, how, of, False))
    setattr(UnknownKey, f"__{name}__", lambda self, _: raw_attribute(self, "run").decide())
  def refusal(name: str) -> Any:
    return lambda self, *args, **members: raw_attribute(self, "run").refuse(f"it uses an operand or the value of a constant in Python ({name})")
  for each in (UnknownValue, UnknownNumber, UnknownOp, UnknownKey, UnknownParts):
    for name in REFUSED:
      if f"__{name}__" not in vars(each) or name == "hash": setattr(each, f"__{name}__", refusal(name))


install()
