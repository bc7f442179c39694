"""Makes the two sides of a rule for all operands and constants at once: unknown values take their places, and the
rule's function runs on them (rule_symbols). If the sides of all its runs are equal, the rule is right for all operands
of the dtypes that were tried."""
from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import itertools
import math
import random
import types
from collections.abc import Iterator
from typing import Any

from tgc.export.kinds import Function, Node
from tgc.export.rule_instances import (
  OF_FLOATS,
  InstanceMaker,
  Unmakeable,
  admitted_dtypes,
  known_options,
  patterns_below,
)
from tgc.export.rule_symbols import (
  MOST_RUNS,
  NotGeneral,
  RuleRun,
  UnknownNumber,
  UnknownValue,
  contains_unknown,
  is_bound_of_bool,
  is_special,
  is_unknown,
  number_type,
)

MOST_COMBINATIONS = 6000
MOST_SIDES = 3000
VECTORS = {"STACK", "VECTORIZE", "VCONST", "GEP"}
PARTS = {"backward_slice", "backward_slice_with_self", "ranges"}
PURE = {all, any, sum, len, tuple, list, zip, reversed, enumerate, abs, min, max, bool}  # functions that use methods of their operands, which an unknown value has
INSPECTING = (eval, exec, locals, globals, vars, dir)
ROUNDS_TWICE = "rounds-twice"  # a long integer constant becomes a float by way of a double, so it may be rounded twice
STATIC = {"maximum", "minimum", "const"}


def next_choices(choices: list[int], counts: list[int]) -> list[int]:
  """Returns the first choices of the sequence after `choices`; choices after them take the first option. The last
  choice varies fastest. Empty if there is no such sequence. `counts`: the number of options of each choice."""
  out = choices[:len(counts)]
  while out and out[-1] + 1 == counts[len(out) - 1]: out.pop()
  return [*out[:-1], out[-1] + 1] if out else []


class GeneralInstanceMaker(InstanceMaker):
  """Makes an instance whose operands and captured constants are unknown values.

  `path` has the numbers of the first choices, such as those of dtypes, ops and, with `permutes`, orders of sources;
  later choices take the first option, and are added to it. With `mixes`, also makes operands without a width beside
  others, and integers as operands of float ops."""

  def __init__(self, kinds: list[Any], kinds_of_root: list[Any], pattern: Any, path: list[int], permutes: bool, mixes: bool) -> None:
    super().__init__(None, random.Random(1))
    self.path, self.counts, self.permutes, self.mixes, self.makes_own_casts = path, list[int](), permutes, mixes, True
    self.fixed: set[Node] = set()
    self.constants: set[Node] = set()
    self.leaves_made: set[Node] = set()
    self.kinds, self.kinds_of_root, self.pattern = kinds, kinds_of_root, pattern
    self.dtype = self.choice(kinds_of_root)

  def choice(self, options: Any) -> Any:
    options = [o for o in dict.fromkeys(known_options(options)) if getattr(o, "name", "") not in VECTORS]
    if not options: raise Unmakeable("nothing to choose from")
    self.counts.append(len(options))
    if len(self.path) < len(self.counts): self.path.append(0)
    return options[self.path[len(self.counts) - 1]]

  def patterns(self, p: Any, count: int) -> list[Any]:
    if p.src is None: return [None] * count
    chosen = self.choice(p.src) if self.permutes else p.src[0]
    if isinstance(chosen, itertools.repeat): return [next(chosen)]
    return list(chosen) + [None] * (count - len(chosen))

  def unknown_value(self, dtype: Any) -> Any:
    out = self.make_element(self.dtypes.long).cast(dtype) if self.is_weak(dtype) else self.make_element(dtype)
    self.leaves_made.add(out)
    return out

  def cast(self, p: Any, op: Any, dtype: Any, has_dtype: bool) -> Any:
    if p is self.pattern and not has_dtype and self.dtype is not self.kinds_of_root[0]: raise Unmakeable("made for another dtype")
    return super().cast(p, op, dtype, has_dtype)

  def wants_odd_value(self) -> bool: return self.mixes
  def makes_weak(self, dtype: Any) -> bool: return bool(self.mixes and self.choice([False, True]))
  def cast_kinds(self) -> list[Any]: return self.kinds
  def dtype_of_float_operand(self) -> Any: return self.choice(self.kinds)
  def compared_dtype(self) -> Any: return self.choice(self.kinds)

  def leaf(self, dtype: Any) -> Any: return self.unknown_value(dtype)

  def constant(self, dtype: Any, arg: Any) -> Any:
    if arg is not None: return super().constant(dtype, arg)
    d = self.dtypes
    if self.has_weak and dtype in d.uints and self.choice([False, True]):  # a constant without a width may be negative
      signed = {d.uchar: d.char, d.ushort: d.short, d.uint: d.int, d.ulong: d.long}[dtype]
      out = self.unknown_value(signed).cast(self.weak_dtype())
    else:
      out = self.unknown_value(dtype)
    self.constants.add(out)
    return out

  def is_weak_constant(self, node: Any) -> bool: return super().is_weak_constant(node) or (node in self.constants and self.is_weak(node.dtype))

  def make_matching_node(self, p: Any, dtype: Any, has_dtype: bool) -> Any:
    out = super().make_matching_node(p, dtype, has_dtype)
    if not self.mixes and out.op.name in OF_FLOATS and not self.dtypes.is_float(out.dtype): raise Unmakeable("integers as operands of a float op")
    if p.op is not None and out not in self.leaves_made: self.fixed.add(out)
    return out


@functools.cache
def functions_of(file: str) -> list[Any]:
  with open(file, encoding="utf-8") as source: return [n for n in ast.walk(ast.parse(source.read())) if isinstance(n, (ast.Lambda, ast.FunctionDef))]


def syntax_of(code: Any) -> Any:
  """Returns the syntax tree of a function. Raises NotGeneral if no tree is found, or several different ones."""
  def is_same(n: Any) -> bool:
    if isinstance(n, ast.Lambda): names, lines, name = [n.args], [n.lineno], "<lambda>"
    else: names, lines, name = [n.args], [n.lineno, *[d.lineno for d in n.decorator_list]], n.name
    arguments = tuple(a.arg for a in (*names[0].posonlyargs, *names[0].args))
    return code.co_name == name and code.co_firstlineno in lines and arguments == code.co_varnames[:code.co_argcount]
  found = [n for n in functions_of(code.co_filename) if is_same(n)]
  if not found: raise NotGeneral("its source is not found")
  if len({ast.dump(n) for n in found}) > 1: raise NotGeneral("several functions on its line have the same arguments")
  return found[0]


class OperationInstrumenter(ast.NodeTransformer):
  """Replaces operations that an object cannot overload (`is`, `in`, calls) by calls of the run's functions."""

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
    if isinstance(node.func, ast.Attribute) and node.func.attr == "substitute" and len(node.args) == 1 and isinstance(node.args[0], ast.Dict):
      if node.keywords or None in node.args[0].keys: raise NotGeneral("it substitutes with options")
      pairs: list[Any] = [ast.Tuple([k, v], ast.Load()) for k, v in zip(node.args[0].keys, node.args[0].values)]  # type: ignore[list-item]
      return self.call("_tgc_substitute", node.func.value, ast.List(pairs, ast.Load()))
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
  """Returns the syntax tree of the node whose parts an any() or all() searches; None for other calls."""
  import copy
  if not isinstance(call.func, ast.Name) or call.func.id not in ("any", "all") or len(call.args) != 1: return None
  if not isinstance(found := call.args[0], ast.GeneratorExp) or len(found.generators) != 1: return None
  if any(isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield)) for n in ast.walk(call)): return None
  of = found.generators[0].iter
  return copy.deepcopy(of.value) if isinstance(of, ast.Attribute) and of.attr in PARTS else None


@functools.cache
def instrument_function(code: Any) -> Any:
  import copy
  syntax = OperationInstrumenter().visit(copy.deepcopy(syntax_of(code)))
  if isinstance(syntax, ast.Lambda): return compile(ast.fix_missing_locations(ast.Expression(syntax)), code.co_filename, "eval")
  return compile(ast.fix_missing_locations(ast.Module([syntax], [])), code.co_filename, "exec")


def instrumented_in_run(run: RuleRun, function: Function) -> Any:
  closure = inspect.getclosurevars(function).nonlocals
  scope = {**function.__globals__, **closure, "_tgc_is": run.is_same, "_tgc_in": run.is_in, "_tgc_call": functools.partial(call_in_run, run),
           "_tgc_substitute": run.substitute_unknown, "_tgc_search": lambda node, search: run.decide() if is_unknown(node) else search()}
  compiled, name = instrument_function(function.__code__), function.__code__.co_name
  if name == "<lambda>": made = eval(compiled, scope)
  else:
    exec(compiled, scope)  # noqa: S102, the user's own tinygrad
    made = scope[name]
    if name in function.__globals__: scope[name] = function.__globals__[name]  # recursion goes through call_in_run, too
  made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
  return made


def without_cache(function: Any) -> Any:
  return function.__wrapped__ if isinstance(function, type(functools.cache(len))) else function


def kind_of_argument(args: Any) -> Any: return number_type(args[0]) if args and type(args[0]) is UnknownNumber else None


def call_in_run(run: RuleRun, function: Any, *args: Any, **members: Any) -> Any:
  """Calls a function for a rule. Instruments the function, too, if unknown values reach it."""
  from tinygrad.dtype import dtypes
  from tinygrad.uop.ops import UOp
  if is_unknown(function) or any(function is f for f in INSPECTING): run.refuse("it inspects its own variables")
  of = getattr(function, "__self__", None)
  is_own = getattr(function, "__module__", "") in ("tgc.export.rule_symbols", __name__)
  if is_own or not (contains_unknown([*args, *members.values()]) or contains_unknown(of)): return run.wrap_nodes(function(*args, **members))
  if isinstance(function, type) and function not in PURE:
    if function is not UOp: run.refuse(f"it calls {function.__name__} with an operand")
    return run.wrap_nodes(function(*run.nodes(args), **{k: run.nodes(v) for k, v in members.items()}))
  if any(function is f for f in PURE) or (type(of) in (list, tuple) and function.__name__ in ("append", "extend", "insert", "index")):
    return function(*args, **members)
  if function is isinstance and type(args[0]) is UnknownValue and args[1] is UOp: return True
  if function is isinstance and type(args[0]) is UnknownNumber and is_bound_of_bool(args[0]): run.refuse("it looks at the type of a bound")
  if function is isinstance and type(args[0]) is UnknownNumber: return issubclass(number_type(args[0]), args[1])
  if function in (math.isnan, math.isinf) and type(args[0]) is UnknownNumber: return is_special(args[0], function is math.isnan)
  name = getattr(function, "__name__", "")
  if name in STATIC and getattr(UOp, name, None) == function:
    dtype = next((a for a in (*args, *members.values()) if type(a).__name__ == "DType"), None)
    if dtype is None and name == "const" and kind_of_argument(args) is int: dtype = getattr(dtypes, "weakint", None)
    if name == "const" and args and type(args[0]) is UnknownNumber: return run.value(run.constant(args[0], dtype))
    return run.wrap_nodes(function(*run.nodes(args, dtype), **members))
  plain = without_cache(function)
  if isinstance(plain, types.FunctionType): return instrumented_in_run(run, plain)(*args, **members)
  return run.refuse(f"it calls {name or 'a function'} with an operand or the value of a constant")


class GeneralRule:

  def __init__(self, pattern: Any, function: Function) -> None:
    from tinygrad.dtype import dtypes as d
    from tinygrad.uop.ops import GroupOp, Ops
    if getattr(function, "__code__", None) is None: raise NotGeneral("its function is not written in Python")
    self.pattern, self.function = pattern, function
    self.kinds = [getattr(d, "weakint", None) or d.index, d.int, d.float, d.bool, d.uint, d.long, d.half, d.uchar, d.char, d.ulong, d.double,
                  d.bfloat16, d.short, d.ushort, d.fp8e4m3, d.fp8e5m2]
    self.kinds_of_root, self.reads_sources, self.rounds_twice = self.kinds, False, False
    below = list(patterns_below(pattern))
    if any(p.is_any for p in below): raise NotGeneral("its pattern has alternatives")
    if any(getattr(p, "match_tag", None) for p in below): raise NotGeneral("its pattern has tags")
    casts = {Ops.CAST, Ops.BITCAST}
    if pattern.op is not None and {*casts, *GroupOp.Comparison}.issuperset(pattern.op):
      self.kinds_of_root = list(admitted_dtypes(pattern) or [d.bool])
    values = {*GroupOp.ALU, *casts, Ops.CONST, Ops.RANGE, getattr(Ops, "VCONST", Ops.CONST)}
    for p in below:
      others = [op.name for op in p.op or () if op not in values]
      if len(others) < len(p.op or ()): others = [name for name in others if name not in VECTORS]
      if others and len(others) < len(p.op): raise NotGeneral(f"its pattern also matches {others[0]}")
      if others: raise NotGeneral(f"its pattern has a {others[0]}")
      if p.op is not None and Ops.RANGE in p.op and p.src is None: raise NotGeneral("its pattern has a loop of any size")
      if p.src is not None and p.op[0] is not Ops.RANGE and any(isinstance(s, itertools.repeat) for s in p.src): raise NotGeneral("its pattern has any number of operands")
      if p.arg is not None and (p.op is None or p.op[0] is not Ops.CONST): raise NotGeneral("its pattern has an argument of an op")
    if "ctx" in function.__code__.co_varnames[:function.__code__.co_argcount]: raise NotGeneral("it reads a context")

  def rule_runs(self, maker: GeneralInstanceMaker, before: Node) -> Iterator[tuple[Node, Node]]:
    """Yields both sides of the rule for each sequence of decisions of its function with which the rule applies."""
    names = {node: name for name, node in maker.named.items()}
    choices: list[int] = []
    counts = {u.src[1]: maker.bits(u.dtype) for u in before.toposort() if u.op.name in ("SHL", "SHR")}
    for _ in range(MOST_RUNS):
      run = RuleRun(choices, counts, maker.fixed, maker.constants, names, maker.unknown_value)
      try: after = instrumented_in_run(run, self.function)(**{name: run.value(node) for name, node in maker.named.items()})
      except NotGeneral: raise
      except Exception as e: raise NotGeneral(f"it raises {type(e).__name__}: {str(e)[:60]}") from None
      finally: self.reads_sources |= run.reads_sources
      if run.refused is not None: raise NotGeneral(run.refused)
      self.rounds_twice |= run.rounds_twice
      if after is not None and type(after) is not UnknownValue: raise NotGeneral("it makes something else than a node")
      if after is not None and ((node := run.nodes(after)) is not before or run.makes_constants): yield run.sides(before, node)
      if not (choices := next_choices(choices, run.options)): return
    raise NotGeneral("it goes too many ways")

  def sides(self, permutes: bool, mixes: bool) -> list[tuple[Node, Node]]:
    out: dict[tuple[Node, Node], None] = {}
    seen: set[Node] = set()
    path: list[int] = []
    for _ in range(MOST_COMBINATIONS):
      maker, before = GeneralInstanceMaker(self.kinds, self.kinds_of_root, self.pattern, path, permutes, mixes), None
      with contextlib.suppress(Exception): before = maker.make(self.pattern, maker.dtype)
      if before is not None and before not in seen: out.update(dict.fromkeys(self.rule_runs(maker, before)))
      if before is not None: seen.add(before)
      path = next_choices(path, maker.counts)
      if len(out) > MOST_SIDES: break
      if not path: return list(out)
    raise NotGeneral("its pattern admits too many dtypes and ops")


def general_sides(pattern: Any, function: Function) -> tuple[list[tuple[Node, Node]], str]:
  """Returns pairs of nodes that are equal for all values of their leaves if the rule is right, for the dtypes and ops
  that the pattern admits, and "" or ROUNDS_TWICE. If they cannot be made, returns no pair, and the reason."""
  try:
    rule = GeneralRule(pattern, function)
    mixes = not (out := rule.sides(False, False))
    if mixes: out = rule.sides(False, True)
    return (rule.sides(True, mixes) if rule.reads_sources and out else out), ROUNDS_TWICE if rule.rounds_twice else ""
  except NotGeneral as why: return [], f"{why}"
  except (OSError, SyntaxError): return [], "its source is not found"
