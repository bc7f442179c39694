"""Reads the text of a graph that tinygrad's pyrender writes, without running it as a program.

Python's ast module parses the text. Only assignments, functions, and the expressions, names, methods and operators of
the tables below are evaluated.
"""
from __future__ import annotations

import ast
import enum
import functools
import operator
import re
import sys
import types
from typing import Any, NoReturn

from tgc.export.kinds import JSON, Node

MAX_TEXT = 16 << 20  # characters
MAX_COUNT = 1 << 16
MAX_DEPTH = 1000     # stack frames that ast.parse may use

METHODS = {"after", "assign", "barrier", "bitcast", "broadcast", "cast", "contiguous", "copy_to_device", "detach", "encdec", "end", "eq", "exp2", "expand", "flip", "forced_reshape", "gep", "index", "load", "log2", "logical_not", "maximum", "minimum", "ne", "pad", "permute", "r", "reciprocal", "reduce", "reshape", "rtag", "shrink", "sin", "sink", "sqrt", "store", "threefry", "trunc", "where"}
STATIC_METHODS = {"const", "new_buffer", "range", "sink", "special", "unique", "unique_const", "variable"}
KEYWORDS = {"addrspace", "arg", "device", "dtype", "ptr", "src", "tag", "unique"}
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
             ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.LShift: operator.lshift,
             ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
             ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
             ast.NotEq: operator.ne}


# Classes of args that a graph may have, in any release: data without functions.
ARG_CLASSES = ("BufferizeOpts", "CallInfo", "ConstFloat", "Estimates", "Kernel", "KernelInfo", "Opt", "ParamArg")


class GraphTextError(ValueError):
  """A text or JSON that does not describe a graph or a value."""


def cap_spec() -> None:
  """Sets tinygrad's setting SPEC to at most 1: with more, tinygrad runs the texts of the graphs that it makes as
  programs.
  """
  from tinygrad.helpers import ContextVar
  spec: Any = ContextVar._cache.get("SPEC")
  if spec is not None: spec.value = min(spec.value, 1)


@functools.cache
def permitted_names() -> Any:
  """Returns what a text may name: constants, classes of args, members of enums and dtypes, and constructors of image
  dtypes. Also returns the classes UOp, DType and Ops."""
  from tinygrad import dtype
  from tinygrad.codegen import opt
  from tinygrad.dtype import AddrSpace, DType, Invalid, dtypes
  from tinygrad.schedule import rangeify
  from tinygrad.uop import ops
  from tinygrad.uop.ops import AxisType, Ops, UOp
  cap_spec()
  constants = {"Invalid": Invalid, "inf": float("inf"), "nan": float("nan")}
  records = {name: vars(m)[name] for m in (dtype, ops, opt, rangeify) for name in ARG_CLASSES if name in vars(m)}
  members = {kind.__name__: dict(kind.__members__) for kind in (AddrSpace, AxisType, Ops, opt.OptOps)}
  members["dtypes"] = {name: value for name in dir(dtypes) if isinstance(value := getattr(dtypes, name), DType)}
  images = {name: getattr(dtypes, name) for name in ("imagef", "imageh") if hasattr(dtypes, name)}
  return constants, records, members, images, UOp, DType, Ops


def checked_count(count: int) -> Any:
  """Returns `count`, the size of a vector. Raises ValueError unless it is an integer from 0 to MAX_COUNT: tinygrad
  makes tuples of it.
  """
  if type(count) is not int or not 0 <= count <= MAX_COUNT: raise ValueError(f"{count!r} elements, at most {MAX_COUNT}")
  return count


def refusal(error: Exception) -> str: return f"tinygrad refuses the node: {type(error).__name__}: {error}"


def is_const_value(x: Any) -> bool: return type(x) in (bool, int, float, permitted_names()[1].get("ConstFloat")) or x is permitted_names()[0]["Invalid"]
def is_name(x: Any) -> bool: return type(x) is str and re.fullmatch(r"[A-Za-z_]\w*", x, re.ASCII) is not None
def is_parameter(x: Any) -> bool:
  """Returns True for the number of a buffer, or for a ParamArg whose name and bounds, if any, are an identifier and
  numbers."""
  bounds = getattr(x, "vmin_vmax", None)
  return type(x) is int or (type(x) is permitted_names()[1].get("ParamArg") and (x.name is None or is_name(x.name)) and
                            (bounds is None or is_tuple(bounds, is_const_value, is_const_value)))
def is_tuple(x: Any, *kinds: Any) -> bool: return type(x) is tuple and len(x) == len(kinds) and all(kind(y) for kind, y in zip(kinds, x))


# Tests of the args of ops that tinygrad puts unquoted into Python code when it evaluates sizes (UOp.sym_infer).
ARG_TESTS = {
  "CONST": is_const_value, "PARAM": is_parameter, "VCONST": lambda x: type(x) is tuple and all(map(is_const_value, x)), "SPECIAL": is_name,
  "DEFINE_VAR": lambda x: is_tuple(x, is_name, is_const_value, is_const_value),
  "RANGE": lambda x: type(x) is tuple and all(type(y) is int for y in x[:-1]),
  "REDUCE_AXIS": lambda x: is_tuple(x, lambda op: isinstance(op, enum.Enum), lambda axis: all(type(y) is int for y in axis)),
}


def checked_node(node: Any) -> Any:
  is_valid = is_parameter if type(node.arg) is permitted_names()[1].get("ParamArg") else ARG_TESTS.get(node.op.name)
  if is_valid and not is_valid(node.arg): raise GraphTextError(f"Ops.{node.op.name} cannot have the arg {repr(node.arg)[:60]}")
  return node


class GraphTextReader:

  def __init__(self, text: str) -> None:
    self.text = text
    self.variables: JSON = {}
    self.functions: JSON = {}
    self.constants, self.records, self.members, self.images, self.uop, self.dtype, self.op = permitted_names()
    self.reserved = {"UOp", *self.constants, *self.records, *self.members}

  def fail(self, node: ast.AST, what: str) -> NoReturn:
    found = (ast.get_source_segment(self.text, node) or type(node).__name__).split("\n")[0]
    if len(found) > 60: found = found[:57] + "..."
    raise GraphTextError(f"line {getattr(node, 'lineno', '?')}: {what} '{found}' in the text of a graph")

  def statements(self, body: list[ast.stmt]) -> None:
    for statement in body:
      kind = type(statement)
      try:
        if kind is ast.Assign: self.assign(statement)
        elif kind is ast.FunctionDef: self.define(statement)
        else: self.fail(statement, "unexpected statement")
      except (GraphTextError, RecursionError): raise
      except Exception as e: raise GraphTextError(f"line {statement.lineno}: {refusal(e)}") from e

  def assign(self, statement: Any) -> None:
    target = statement.targets[0]
    if len(statement.targets) > 1 or type(target) is not ast.Name or target.id in self.reserved or "__" in target.id:
      self.fail(target, "unexpected target of an assignment")
    self.variables[target.id] = self.node_of(statement.value)

  def define(self, statement: Any) -> None:
    *body, last = statement.body
    if type(last) is not ast.Return or last.value is None or statement.decorator_list or ast.unparse(statement.args):
      self.fail(statement, "unexpected function")
    inner = GraphTextReader(self.text)
    inner.functions = dict(self.functions)
    inner.statements(body)
    self.functions[statement.name] = inner.node_of(last.value)

  def node_of(self, e: Any) -> Any:
    """Evaluates an expression that must be a node: if names could stand for tuples, a value could double with each
    line."""
    value = self.value(e)
    return value if isinstance(value, self.uop) else self.fail(e, "expected a node, found")

  def value(self, e: Any) -> Any:
    evaluate = EXPRESSIONS.get(type(e))
    return evaluate(self, e) if evaluate else self.fail(e, "unexpected expression")

  def name(self, e: Any) -> Any:
    if e.id in self.variables: return self.variables[e.id]
    if e.id in self.constants: return self.constants[e.id]
    self.fail(e, "unknown name")

  def constant(self, e: Any) -> Any:
    if type(e.value) in (bool, bytes, float, int, str, type(None)): return e.value
    self.fail(e, "unexpected constant")

  def items(self, e: Any) -> Any: return tuple([self.value(x) for x in e.elts])

  def attribute(self, e: Any) -> Any:
    members = self.members.get(e.value.id) if type(e.value) is ast.Name else None
    if members is None or e.attr not in members: self.fail(e, "unknown name")
    return members[e.attr]

  def sign(self, e: Any) -> Any:
    value = self.value(e.operand)
    if type(e.op) is not ast.USub or type(value) not in (int, float, self.uop): self.fail(e, "unexpected operator in")
    return -value

  def binary(self, e: Any) -> Any: return self.operation(e, e.left, e.op, e.right)

  def comparison(self, e: Any) -> Any:
    if len(e.ops) > 1: self.fail(e, "unexpected chain of comparisons")
    return self.operation(e, e.left, e.ops[0], e.comparators[0])

  def operation(self, e: Any, left: Any, kind: Any, right: Any) -> Any:
    a, b, apply = self.value(left), self.value(right), OPERATORS.get(type(kind))
    kinds = {type(a), type(b)}
    if apply is None or self.uop not in kinds or not kinds <= {self.uop, bool, float, int}:
      self.fail(e, "unexpected operator in")
    return apply(a, b)

  def call(self, e: Any) -> Any:
    name = e.func.id if type(e.func) is ast.Name else None
    if name in self.functions and not e.args and not e.keywords: return self.functions[name]
    made = self.node if name == "UOp" else self.records.get(name) if name else self.method(e.func)
    if made is None: self.fail(e, "unexpected call")
    args, keywords = [self.value(x) for x in e.args], {}
    for k in e.keywords:
      if k.arg not in KEYWORDS and (k.arg is None or name not in self.records): self.fail(k, "unexpected argument")
      keywords[k.arg] = self.value(k.value)
    result = made(*args, **keywords)
    return checked_node(result) if isinstance(result, self.uop) else result

  def method(self, e: Any) -> Any:
    """Returns the function that a call names; None if a text may not call it."""
    if type(e) is not ast.Attribute: return None
    owner = e.value.id if type(e.value) is ast.Name else None
    if owner == "UOp": return getattr(self.uop, e.attr) if e.attr in STATIC_METHODS else None
    if owner == "dtypes": return self.images.get(e.attr)
    value = self.value(e.value)
    if e.attr == "alu" and isinstance(value, self.uop): return lambda op, *src: self.alu(value, op, *src)
    names = METHODS if isinstance(value, self.uop) else ("ptr", "vec") if isinstance(value, self.dtype) else ()
    if e.attr not in names: return None
    method = getattr(value, e.attr)
    return method if e.attr not in ("broadcast", "vec") else lambda count: method(checked_count(count))

  def alu(self, value: Any, op: Any, *src: Any) -> Any:
    if not isinstance(op, self.op) or not all(isinstance(s, self.uop) for s in src): raise TypeError("an operand has the wrong type")
    return value.alu(op, *src)

  def node(self, op: Any, dtype: Any = None, src: Any = (), arg: Any = None, tag: Any = None) -> Any:
    dtype = self.members["dtypes"]["void"] if dtype is None else dtype
    is_node = isinstance(op, self.op) and isinstance(dtype, self.dtype) and type(src) is tuple
    if not is_node or not all(isinstance(s, self.uop) for s in src):
      raise TypeError("the op, the dtype or a source has the wrong type")
    return self.uop(op, dtype, src, arg, tag)


EXPRESSIONS = {ast.Attribute: GraphTextReader.attribute, ast.BinOp: GraphTextReader.binary, ast.Call: GraphTextReader.call,
               ast.Compare: GraphTextReader.comparison, ast.Constant: GraphTextReader.constant, ast.List: GraphTextReader.items,
               ast.Name: GraphTextReader.name, ast.Tuple: GraphTextReader.items, ast.UnaryOp: GraphTextReader.sign}


def parse_text(text: str, mode: str) -> Any:
  """Returns the syntax tree of a text. Lowers Python's recursion limit, so that the parser does not overflow the stack.
  """
  if not isinstance(text, str): raise GraphTextError("the text of a graph is not a string")
  if len(text) > MAX_TEXT: raise GraphTextError(f"the text of a graph has {len(text)} characters, at most {MAX_TEXT}")
  not_python = "the text of a graph is not Python"
  limit, depth = sys.getrecursionlimit(), 0
  frame: types.FrameType | None = sys._getframe()
  while frame: frame, depth = frame.f_back, depth + 1
  try:
    sys.setrecursionlimit(min(limit, depth + MAX_DEPTH))
    return ast.parse(text, mode=mode)
  except SyntaxError as e: raise GraphTextError(f"line {e.lineno or 1}: {not_python}: {e.msg}") from None
  except ValueError as e: raise GraphTextError(f"{not_python}: {e}") from None
  except (RecursionError, MemoryError): raise GraphTextError("the text of a graph is nested too deeply") from None
  finally: sys.setrecursionlimit(limit)


def read_graph(text: str) -> Node:
  """Returns the node `ast` that a text defines. Raises GraphTextError."""
  tree, reader = parse_text(text, "exec"), GraphTextReader(text)
  try: reader.statements(tree.body)
  except RecursionError: raise GraphTextError("the text of a graph is nested too deeply") from None
  made = reader.variables.get("ast")
  if not isinstance(made, reader.uop): raise GraphTextError("the text of a graph does not define the node 'ast'")
  node: Node = made
  return node


@functools.lru_cache(maxsize=4096)
def read_value(text: str) -> Any:
  """Returns the dtype, the member of an enum or Invalid that a text names. Raises GraphTextError."""
  reader, trouble = GraphTextReader(text), f"'{str(text)[:60]}' is not a dtype or a value"
  try: value = reader.value(parse_text(text, "eval").body)
  except GraphTextError as e: raise GraphTextError(f"{trouble}: {e}") from None
  except Exception as e: raise GraphTextError(f"{trouble}: {refusal(e)}") from None
  if isinstance(value, (reader.dtype, enum.Enum)) or value is reader.constants["Invalid"]: return value
  raise GraphTextError(trouble)
