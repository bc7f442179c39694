"""Makes the sides of a rule for all operands and constants at once: an unknown value takes the place of each operand and
each constant that the pattern captures, and the rule's function runs on them (rule_symbols). If the sides of all its runs
are equal, the rule is right for all operands of these dtypes."""
from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import itertools
import math
import operator
import random
import types
from collections.abc import Iterator
from typing import Any

from tgc.export.kinds import Function, Node
from tgc.export.rule_instances import Maker, dtype_of, known_options, patterns_below
from tgc.export.rule_symbols import (
  MOST_RUNS,
  NotGeneral,
  Number,
  Run,
  Value,
  contains_unknown,
  is_special,
  is_unknown,
  kind_of,
)

MOST_COMBINATIONS = 6000  # most combinations of dtypes and ops that the pattern of a rule admits
MOST_SIDES = 3000  # most pairs of sides of one rule
VECTORS = {"STACK", "VECTORIZE", "VCONST", "GEP"}  # ops of vectors, which are left out
PARTS = {"backward_slice", "backward_slice_with_self", "ranges"}  # members of a node that hold nodes below it
PURE = {all, any, sum, len, tuple, list, zip, reversed, enumerate, abs, min, max, bool}  # functions that only use methods of their operands, which an unknown value has
INSPECTING = (eval, exec, locals, globals, vars, dir)
STATIC = {"maximum", "minimum", "const"}  # functions of UOp that build nodes


class GeneralMaker(Maker):
  """Makes an instance whose operands and captured constants are unknown values. `turn` numbers the combinations of dtypes
  and ops that the pattern admits and, with `permutes`, of the orders of its sources."""

  def __init__(self, kinds: list[Any], kinds_of_root: list[Any], turn: int, permutes: bool) -> None:
    super().__init__(None, random.Random(1))
    self.turn, self.combinations, self.permutes, self.makes_own_casts = turn, 1, permutes, True
    self.fixed: set[Node] = set()
    self.constants: set[Node] = set()
    self.leaves_made: set[Node] = set()
    self.kinds = kinds
    self.dtype = self.choice(kinds_of_root)

  def choice(self, options: Any) -> Any:
    options = [o for o in dict.fromkeys(known_options(options)) if getattr(o, "name", "") not in VECTORS]
    self.combinations *= len(options)
    self.turn, chosen = divmod(self.turn, len(options))
    return options[chosen]

  def patterns(self, p: Any, count: int) -> list[Any]:
    if p.src is None: return [None] * count
    chosen = self.choice(p.src) if self.permutes else p.src[0]
    if isinstance(chosen, itertools.repeat): return [next(chosen)]
    return list(chosen) + [None] * (count - len(chosen))

  def unknown(self, dtype: Any) -> Any:
    out = self.element(self.dtypes.long).cast(dtype) if self.is_weak(dtype) else self.element(dtype)
    self.leaves_made.add(out)
    return out

  def cast_kinds(self) -> list[Any]: return self.kinds
  def compared_dtype(self) -> Any: return self.choice(self.kinds)

  def leaf(self, dtype: Any) -> Any: return self.unknown(dtype)

  def constant(self, dtype: Any, arg: Any) -> Any:
    if arg is not None: return super().constant(dtype, arg)
    self.constants.add(out := self.unknown(dtype))
    return out

  def made(self, p: Any, dtype: Any, has_dtype: bool) -> Any:
    out = super().made(p, dtype, has_dtype)
    if p.op is not None and out not in self.leaves_made: self.fixed.add(out)
    return out


# ---- the code of a rule

@functools.cache
def functions_of(file: str) -> list[Any]:
  with open(file, encoding="utf-8") as source: return [n for n in ast.walk(ast.parse(source.read())) if isinstance(n, (ast.Lambda, ast.FunctionDef))]


def syntax_of(code: Any) -> Any:
  """Returns the syntax of a function. Raises NotGeneral if it is not found, or if several functions that differ fit."""
  def is_same(n: Any) -> bool:
    if isinstance(n, ast.Lambda): names, lines, name = [n.args], [n.lineno], "<lambda>"
    else: names, lines, name = [n.args], [n.lineno, *[d.lineno for d in n.decorator_list]], n.name
    arguments = tuple(a.arg for a in (*names[0].posonlyargs, *names[0].args))
    return code.co_name == name and code.co_firstlineno in lines and arguments == code.co_varnames[:code.co_argcount]
  found = [n for n in functions_of(code.co_filename) if is_same(n)]
  if not found: raise NotGeneral("its source is not found")
  if len({ast.dump(n) for n in found}) > 1: raise NotGeneral("several functions on its line have the same arguments")
  return found[0]


class Instrumented(ast.NodeTransformer):
  """Replaces operations that an object cannot overload: `is`, `in` and calls become calls of the run's functions."""

  def call(self, name: str, *args: Any) -> Any: return ast.Call(ast.Name(name, ast.Load()), list(args), [])

  def visit_Compare(self, node: ast.Compare) -> Any:
    self.generic_visit(node)
    if not any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops): return node
    if len(node.ops) > 1: raise NotGeneral("it chains comparisons with 'is' or 'in'")
    made = self.call("_tgc_is" if isinstance(node.ops[0], (ast.Is, ast.IsNot)) else "_tgc_in", node.left, node.comparators[0])
    return ast.UnaryOp(ast.Not(), made) if isinstance(node.ops[0], (ast.IsNot, ast.NotIn)) else made

  def visit_Call(self, node: ast.Call) -> Any:
    value = searched_node(node)
    self.generic_visit(node)
    if value is not None:
      lazy = ast.Lambda(ast.arguments([], [], None, [], [], None, []), node)
      return self.call("_tgc_search", self.visit(value), lazy)
    return ast.Call(ast.Name("_tgc_call", ast.Load()), [node.func, *node.args], node.keywords)

  def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
    node.decorator_list, node.returns = [], None
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs): argument.annotation = None
    return self.generic_visit(node)

  def visit_Match(self, node: Any) -> Any: raise NotGeneral("it has a match statement")
  def visit_Global(self, node: Any) -> Any: raise NotGeneral("it has global variables")
  visit_Try = visit_Global


def searched_node(call: ast.Call) -> Any:
  """Returns the syntax of the node if the call asks whether any or all nodes below it are of some kind; else None."""
  import copy
  if not isinstance(call.func, ast.Name) or call.func.id not in ("any", "all") or len(call.args) != 1: return None
  if not isinstance(found := call.args[0], ast.GeneratorExp) or len(found.generators) != 1: return None
  if any(isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield)) for n in ast.walk(call)): return None
  of = found.generators[0].iter
  return copy.deepcopy(of.value) if isinstance(of, ast.Attribute) and of.attr in PARTS else None


@functools.cache
def instrumented(code: Any) -> Any:
  """Returns the instrumented syntax of a function, compiled: an expression, or statements that define it."""
  import copy
  syntax = Instrumented().visit(copy.deepcopy(syntax_of(code)))
  if isinstance(syntax, ast.Lambda): return compile(ast.fix_missing_locations(ast.Expression(syntax)), code.co_filename, "eval")
  return compile(ast.fix_missing_locations(ast.Module([syntax], [])), code.co_filename, "exec")


def function_in(run: Run, function: Function) -> Any:
  """Returns the function with its `is`, `in` and calls answered by the run."""
  closure = inspect.getclosurevars(function).nonlocals
  scope = {**function.__globals__, **closure, "_tgc_is": run.is_same, "_tgc_in": run.is_in, "_tgc_call": functools.partial(call_in, run),
           "_tgc_search": lambda node, search: run.decide() if is_unknown(node) else search()}
  compiled, name = instrumented(function.__code__), function.__code__.co_name
  if name == "<lambda>": made = eval(compiled, scope)
  else:
    exec(compiled, scope)  # noqa: S102, the user's own tinygrad
    made = scope[name]
    if name in function.__globals__: scope[name] = function.__globals__[name]  # recursion goes through call_in, too
  made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
  return made


def kind_of_argument(args: Any) -> Any: return kind_of(args[0]) if args and type(args[0]) is Number else None


def call_in(run: Run, function: Any, *args: Any, **members: Any) -> Any:
  """Calls a function for a rule. Instruments the function, too, if an argument is an unknown value."""
  from tinygrad.dtype import dtypes
  from tinygrad.uop.ops import UOp
  if is_unknown(function) or any(function is f for f in INSPECTING): run.refuse("it inspects its own variables")
  of = getattr(function, "__self__", None)
  is_own = getattr(function, "__module__", "") in ("tgc.export.rule_symbols", __name__)
  if is_own or not (contains_unknown([*args, *members.values()]) or contains_unknown(of)): return run.wrapped(function(*args, **members))
  if isinstance(function, type) and function not in PURE:
    if function is not UOp: run.refuse(f"it calls {function.__name__} with an operand")
    return run.wrapped(function(*run.nodes(args), **{k: run.nodes(v) for k, v in members.items()}))
  if any(function is f for f in PURE) or (type(of) in (list, tuple) and function.__name__ in ("append", "extend", "insert", "index")):
    return function(*args, **members)
  if function is isinstance and type(args[0]) is Value and args[1] is UOp: return True
  if function is isinstance and type(args[0]) is Number: return issubclass(kind_of(args[0]), args[1])
  if function in (math.isnan, math.isinf) and type(args[0]) is Number: return is_special(args[0], function is math.isnan)
  name = getattr(function, "__name__", "")
  if name in STATIC and getattr(UOp, name, None) == function:
    dtype = next((a for a in (*args, *members.values()) if type(a).__name__ == "DType"), None)
    if dtype is None and name == "const" and kind_of_argument(args) is int: dtype = getattr(dtypes, "weakint", None)
    return run.wrapped(function(*run.nodes(args, dtype), **members))
  plain = function.__wrapped__ if isinstance(function, type(functools.cache(len))) else function  # a cache changes no result
  if isinstance(plain, types.FunctionType): return function_in(run, plain)(*args, **members)
  return run.refuse(f"it calls {name or 'a function'} with an operand or the value of a constant")


# ---- the sides

class General:
  """The sides of one rule."""

  def __init__(self, pattern: Any, function: Function) -> None:
    from tinygrad.dtype import dtypes as d
    from tinygrad.uop.ops import GroupOp, Ops
    if getattr(function, "__code__", None) is None: raise NotGeneral("its function is not written in Python")
    self.pattern, self.function = pattern, function
    self.kinds = [getattr(d, "weakint", None) or d.index, d.int, d.float, d.bool, d.uint, d.long, d.half, d.uchar, d.char, d.ulong, d.double,
                  d.bfloat16, d.short, d.ushort, d.fp8e4m3, d.fp8e5m2]
    self.kinds_of_root, self.reads_sources = self.kinds, False
    below = list(patterns_below(pattern))
    if any(p.is_any for p in below): raise NotGeneral("its pattern has alternatives")
    if any(getattr(p, "match_tag", None) for p in below): raise NotGeneral("its pattern has tags")
    casts = {Ops.CAST, Ops.BITCAST}
    if pattern.op is not None and {*casts, *GroupOp.Comparison}.issuperset(pattern.op):  # such ops choose the dtypes of operands themselves
      self.kinds_of_root = list(dtype_of(pattern) or [d.bool])
    values = {*GroupOp.ALU, *casts, Ops.CONST, Ops.RANGE, getattr(Ops, "VCONST", Ops.CONST)}  # no vector is made
    for p in below:
      others = [op.name for op in p.op or () if op not in values]
      if len(others) < len(p.op or ()): others = [name for name in others if name not in VECTORS]
      if others and len(others) < len(p.op): raise NotGeneral(f"its pattern also matches {others[0]}")
      if others: raise NotGeneral(f"its pattern has a {others[0]}")
      if p.op is not None and Ops.RANGE in p.op and p.src is None: raise NotGeneral("its pattern has a loop of any size")
      if p.src is not None and p.op[0] is not Ops.RANGE and any(isinstance(s, itertools.repeat) for s in p.src): raise NotGeneral("its pattern has any number of operands")
      if p.arg is not None and (p.op is None or p.op[0] is not Ops.CONST): raise NotGeneral("its pattern has an argument of an op")
    if "ctx" in function.__code__.co_varnames[:function.__code__.co_argcount]: raise NotGeneral("it reads a context")

  def runs(self, maker: GeneralMaker, before: Node) -> Iterator[tuple[Node, Node]]:
    """Yields the sides of each way that the function may take."""
    names = {node: name for name, node in maker.named.items()}
    choices: list[bool] = []
    for _ in range(MOST_RUNS):
      run = Run(choices, maker.fixed, maker.constants, names, maker.unknown)
      try: after = function_in(run, self.function)(**{name: run.value(node) for name, node in maker.named.items()})
      except NotGeneral: raise
      except Exception as e: raise NotGeneral(f"it raises {type(e).__name__}: {str(e)[:60]}") from None
      finally: self.reads_sources |= run.reads_sources
      if run.refused is not None: raise NotGeneral(run.refused)
      if after is not None and type(after) is not Value: raise NotGeneral("it makes something else than a node")
      if after is not None and (node := run.nodes(after)) is not before:
        when: Any = functools.reduce(operator.and_, run.conditions) if run.conditions else None
        yield (before, node) if when is None else (when.where(before, before.const_like(0)), when.where(node, node.const_like(0)))
      choices = choices[:run.at]
      while choices and not choices[-1]: choices.pop()
      if not choices: return
      choices[-1] = False
    raise NotGeneral("it goes too many ways")

  def sides(self, permutes: bool) -> list[tuple[Node, Node]]:
    out: dict[tuple[Node, Node], None] = {}
    turn, combinations = 0, 1
    while turn < combinations:
      maker, before = GeneralMaker(self.kinds, self.kinds_of_root, turn, permutes), None
      with contextlib.suppress(Exception): before = maker.make(self.pattern, maker.dtype)  # a node does not accept this dtype
      if before is not None: out.update(dict.fromkeys(self.runs(maker, before)))
      turn, combinations = turn + 1, max(combinations, maker.combinations)
      if combinations > MOST_COMBINATIONS or len(out) > MOST_SIDES: raise NotGeneral("its pattern admits too many dtypes and ops")
    return list(out)


def general_sides(pattern: Any, function: Function) -> tuple[list[tuple[Node, Node]], str]:
  """Returns pairs of nodes that are equal for all values of their leaves if the rule is right, for each dtype and op that the
  pattern admits. If the rule cannot run on unknown values, returns none, and why."""
  try:
    rule = General(pattern, function)
    out = rule.sides(False)
    return (rule.sides(True) if rule.reads_sources else out), ""
  except NotGeneral as why: return [], f"{why}"
  except (OSError, SyntaxError): return [], "its source is not found"
