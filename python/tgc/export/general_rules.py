"""Makes the sides of a rule for all operands and constants at once: an unknown value takes the place of each operand and
each constant that the pattern captures, and the rule's Python expression makes the right side of them. If these sides
are equal, the rule is right, whatever its guard is. A guard that can be read becomes a condition of both sides.

Only lambdas of expressions are read: `A`, `A if guard else B`, where A and B may be None. An expression that looks at its
operands, other than at dtypes and at what the pattern fixes, has no general sides."""
from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import random
from collections.abc import Callable, Iterator
from typing import Any

from tgc.export.kinds import Function, Node
from tgc.export.rule_instances import Maker, patterns_below

MOST_COMBINATIONS = 2000  # of dtypes and ops that the pattern of a rule admits
MOST_SIDES = 80  # of one rule
COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {ast.Lt: lambda a, b: a < b, ast.Gt: lambda a, b: b < a, ast.LtE: lambda a, b: (b < a).logical_not(),
               ast.GtE: lambda a, b: (a < b).logical_not(), ast.Eq: lambda a, b: a.ne(b).logical_not(), ast.NotEq: lambda a, b: a.ne(b)}
# Attributes that build nodes, or are the same for all operands of a dtype.
BUILDERS = {"alu", "where", "cast", "bitcast", "const_like", "logical_not", "ne", "eq", "dtype", "maximum", "minimum", "reciprocal", "valid", "UOp",
            "Ops", "const", "dtypes", "bool", "float", "neg", "simplify"}
EXACT = (ast.Add, ast.Sub, ast.Mult)  # the same for Python's numbers and for nodes without a width


class NotGeneral(Exception):
  """The rule looks at its operands, or is no expression."""


class GeneralMaker(Maker):
  """Makes an instance whose operands and captured constants are unknown values. `turn` numbers the combinations of dtypes
  and ops that the pattern admits."""

  def __init__(self, kinds: list[Any], turn: int) -> None:
    super().__init__(None, random.Random(1))
    self.turn, self.combinations = turn, 1
    self.dtype = self.choice(kinds)

  def choice(self, options: Any) -> Any:
    options = list(options)
    self.combinations *= len(options)
    self.turn, chosen = divmod(self.turn, len(options))
    return options[chosen]

  def unknown(self, dtype: Any) -> Any:
    if self.is_weak(dtype): return self.element(self.dtypes.long).cast(dtype)
    return self.element(dtype)

  def leaf(self, dtype: Any) -> Any: return self.unknown(dtype)
  def constant(self, dtype: Any, arg: Any) -> Any: return self.unknown(dtype) if arg is None else super().constant(dtype, arg)


@functools.cache
def parsed(file: str) -> Any:
  with open(file, encoding="utf-8") as source: return ast.parse(source.read())


def lambda_of(function: Function) -> Any:
  """Returns the syntax of a lambda. Raises NotGeneral for other functions, and where several lambdas on a line differ."""
  code = getattr(function, "__code__", None)
  if code is None or code.co_name != "<lambda>" or function.__defaults__: raise NotGeneral
  names = code.co_varnames[:code.co_argcount]
  found = [n for n in ast.walk(parsed(code.co_filename)) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno and
           tuple(a.arg for a in n.args.args) == names]
  if not found or len({ast.dump(n) for n in found}) > 1: raise NotGeneral
  return found[0]


def paths_of(body: Any, guards: tuple[Any, ...] = ()) -> Iterator[tuple[Any, tuple[Any, ...]]]:
  """Yields the expressions that a rule may make, with the guards of each: (condition, whether it holds)."""
  if isinstance(body, ast.IfExp):
    yield from paths_of(body.body, (*guards, (body.test, True)))
    yield from paths_of(body.orelse, (*guards, (body.test, False)))
  elif not (isinstance(body, ast.Constant) and body.value is None): yield body, guards


class Values(ast.NodeTransformer):
  """Replaces `c.val` and `c.arg` of a captured constant c by c, and refuses what looks at operands. `computes`: whether the
  expression computes with Python's numbers, which have no width."""

  def __init__(self, captured: list[str], constants: set[str], fixed: set[str], scope: dict[str, Any]) -> None:
    self.captured, self.constants, self.fixed, self.scope = captured, constants, fixed, scope
    self.computes = False

  def is_number(self, e: Any) -> bool:
    if isinstance(e, ast.UnaryOp): return self.is_number(e.operand)
    if isinstance(e, ast.BinOp): return self.is_number(e.left) and self.is_number(e.right)
    return isinstance(e, ast.Constant) or (isinstance(e, ast.Attribute) and e.attr in ("val", "arg"))

  def visit_BinOp(self, node: ast.BinOp) -> Any:
    if self.is_number(node) and not isinstance(node.op, EXACT): raise NotGeneral
    self.computes |= self.is_number(node)
    return self.generic_visit(node)

  def visit_Attribute(self, node: ast.Attribute) -> Any:
    if isinstance(node.value, ast.Name) and node.value.id in self.constants and node.attr in ("val", "arg"): return node.value
    of = node.value.id if isinstance(node.value, ast.Name) else None
    is_fixed = node.attr in ("op", "src", "replace") and (of in self.fixed or of == "Ops")
    if of in ("dtypes", "Ops") or is_fixed or node.attr in BUILDERS: return self.generic_visit(node)
    raise NotGeneral

  def visit_Name(self, node: ast.Name) -> Any:
    if node.id not in self.captured and inspect.isfunction(self.scope.get(node.id)): raise NotGeneral
    return node

  def visit_IfExp(self, node: ast.IfExp) -> Any: raise NotGeneral


class General:
  """The sides of one rule."""

  def __init__(self, pattern: Any, function: Function) -> None:
    self.pattern, self.function = pattern, function
    self.syntax = lambda_of(function)
    self.names = [a.arg for a in self.syntax.args.args]
    below = list(patterns_below(pattern))
    self.constants = {p.name for p in below if p.name and p.op is not None and all(op.name in ("CONST", "VCONST") for op in p.op) and p.arg is None}
    self.fixed = {p.name for p in below if p.name and p.op is not None and p.src is not None} - self.constants
    if "ctx" in self.names or any(p.is_any for p in below): raise NotGeneral
    closure = inspect.getclosurevars(function)
    self.scope = {**function.__globals__, **closure.nonlocals}
    values = Values(self.names, self.constants, self.fixed, self.scope)
    self.paths = [(values.visit(made), guards) for made, guards in paths_of(self.syntax.body)]
    self.computes = values.computes

  def evaluate(self, expression: Any, captured: dict[str, Node]) -> Any:
    code = compile(ast.fix_missing_locations(ast.Expression(expression)), "rule", "eval")
    return eval(code, self.scope, captured)

  # -- guards

  def is_static(self, test: Any) -> bool:
    """Returns True if the condition depends only on dtypes, and on ops that the pattern fixes."""
    if isinstance(test, ast.Attribute) and isinstance(test.value, ast.Name) and test.value.id in self.names:
      return test.attr == "dtype" or (test.attr == "op" and test.value.id in self.fixed)
    if isinstance(test, ast.Name): return test.id not in self.names
    return all(self.is_static(child) for child in ast.iter_child_nodes(test))

  def number(self, e: Any, captured: dict[str, Node]) -> Any:
    """Returns the value of a number in a guard, as a node or a Python number."""
    if isinstance(e, ast.Constant): return e.value
    if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub): return -self.number(e.operand, captured)
    if isinstance(e, ast.BinOp) and isinstance(e.op, EXACT):
      left, right = self.number(e.left, captured), self.number(e.right, captured)
      return left + right if isinstance(e.op, ast.Add) else left - right if isinstance(e.op, ast.Sub) else left * right
    if isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name) and e.value.id in self.constants and e.attr in ("val", "arg", "vmin", "vmax"):
      node = captured[e.value.id]
      from tinygrad.dtype import dtypes
      return node if dtypes.is_float(node.dtype) else node.cast(getattr(dtypes, "weakint", None) or dtypes.index)
    raise NotGeneral

  def bound(self, left: Any, op: Any, right: Any, captured: dict[str, Node]) -> Any:
    """Returns what a comparison of a bound of an operand implies for its value: x >= 0 for x.vmin >= 0."""
    for e, other, ops, which in ((left, right, (ast.Gt, ast.GtE), "vmin"), (left, right, (ast.Lt, ast.LtE), "vmax"),
                                 (right, left, (ast.Lt, ast.LtE), "vmin"), (right, left, (ast.Gt, ast.GtE), "vmax")):
      if isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name) and e.attr == which and isinstance(op, ops):
        value, number = captured[e.value.id], self.number(other, captured)
        return COMPARISONS[type(op)](*((value, value.const_like(number)) if e is left else (value.const_like(number), value)))
    raise NotGeneral

  def condition(self, test: Any, captured: dict[str, Node], holds: bool) -> Any:
    """Returns a condition that the guard implies: a node, or a bool for one that is known. Raises NotGeneral."""
    if self.is_static(test): return bool(self.evaluate(test, captured)) == holds
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not): return self.condition(test.operand, captured, not holds)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == holds:  # any part of a conjunction is implied
      out: Any = True
      for part in test.values:
        try: one = self.condition(part, captured, holds)
        except NotGeneral: continue
        if one is False: return False
        out = one if out is True else out if one is True else out & one
      return out
    if isinstance(test, ast.Compare):
      operands = [test.left, *test.comparators]
      out = True
      for left, op, right in zip(operands, test.ops, operands[1:]):
        if type(op) not in COMPARISONS: raise NotGeneral
        try:
          a, b = self.number(left, captured), self.number(right, captured)
          if not hasattr(a, "src"): a = b.const_like(a)
          one = COMPARISONS[type(op)](a, b if hasattr(b, "src") else a.const_like(b))
        except NotGeneral:
          if not holds: raise
          one = self.bound(left, op, right, captured)
        out = one if out is True else out & one
      return out if holds else out.logical_not()
    if isinstance(test, ast.Attribute) and isinstance(test.value, ast.Name) and test.value.id in self.constants and test.attr in ("val", "arg"):
      node = captured[test.value.id]
      truth = node.ne(node.const_like(0))
      return truth if holds else truth.logical_not()
    raise NotGeneral

  # -- sides

  def sides(self, before: Node, captured: dict[str, Node], is_weak: Function) -> Iterator[tuple[Node, Node]]:
    if self.computes and not all(is_weak(captured[c].dtype) for c in self.constants): raise NotGeneral
    for made, guards in self.paths:
      after = self.evaluate(made, {name: captured[name] for name in self.names})
      if not hasattr(after, "src"): after = before.const_like(after)
      when: Any = True
      for test, holds in guards:
        try: one = self.condition(test, captured, holds)
        except NotGeneral: continue
        when = False if one is False or when is False else one if when is True else when if one is True else when & one
      if when is False or after is before: continue
      if when is True: yield before, after
      else: yield when.where(before, before.const_like(0)), when.where(after, after.const_like(0))


def general_sides(pattern: Any, function: Function) -> list[tuple[Node, Node]]:
  """Returns pairs of nodes that are equal for all values of their leaves if the rule is right: for each dtype and op that the
  pattern admits. Returns none if the rule looks at its operands."""
  from tinygrad.dtype import dtypes as d
  kinds = [getattr(d, "weakint", None) or d.index, d.int, d.float, d.bool, d.uint, d.long, d.half, d.uchar, d.char, d.ulong, d.double, d.bfloat16]
  out: dict[tuple[Node, Node], None] = {}
  try: rule = General(pattern, function)
  except (NotGeneral, OSError, SyntaxError): return []
  turn, combinations = 0, 1
  while turn < combinations:
    maker = GeneralMaker(kinds, turn)
    with contextlib.suppress(Exception):  # a node does not accept this dtype
      before = maker.make(pattern, maker.dtype)
      try:
        for pair in rule.sides(before, maker.named, maker.is_weak): out[pair] = None
      except Exception: return []
    turn, combinations = turn + 1, max(combinations, maker.combinations)
    if combinations > MOST_COMBINATIONS or len(out) > MOST_SIDES: return []
  return list(out)
