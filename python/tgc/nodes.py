from __future__ import annotations

import ast
import functools
import importlib.util
import json
import pathlib
import re
from typing import Any

from tgc.export.versions import installed_version
from tgc.process import JSON, visible

INFIX = {"ADD": "+", "SUB": "-", "MUL": "*", "IDIV": "//", "CDIV": "//", "FLOORDIV": "//", "MOD": "%", "CMOD": "%", "FLOORMOD": "%", "FDIV": "/",
         "POW": "**", "SHL": "<<", "SHR": ">>", "AND": "&", "OR": "|", "XOR": "^", "CMPLT": "<", "CMPNE": "!=", "CMPEQ": "=="}
BUFFERS = ("DEFINE_GLOBAL", "PARAM")
MOST_NODES = 60
NUMBER = re.compile(r"-?\d+")


def without_colors(name: str) -> str:
  return re.sub(r"\x1b\[[0-9;]*m", "", name)


def number_or_text(x: Any) -> Any:
  """Returns the int that a text spells; other values unchanged. A count of a kernel with variables is an expression."""
  return int(x) if isinstance(x, str) and NUMBER.fullmatch(x) else x


def values_of(point: Any) -> Any:
  """Returns a point at which two sides differ, with its numeric texts as numbers, also NaN and infinities."""
  def value(x: Any) -> Any:
    if not isinstance(x, str) or NUMBER.fullmatch(x): return number_or_text(x)
    try: return float(x)
    except ValueError: return x
  return {name: value(x) for name, x in point.items()} if isinstance(point, dict) else point


def node_text(number: int, node: JSON) -> str:
  sources = ", ".join(f"#{s}" for s in node.get("src", ()))
  argument = f" {json.dumps(node['arg'])}" if "arg" in node else ""
  return f"#{number} {node['op']} {node['dtype']} ({sources}){argument}"


def first_number(argument: Any) -> Any:
  while isinstance(argument, (list, dict)) and argument:
    argument = argument[0] if isinstance(argument, list) else next(iter(argument.values()))
  return argument


def expression(nodes: list[JSON], number: int) -> str:
  """Returns a node of a record's JSON as an expression: `(((r0*4)+r1)<10)`, with data0 for a buffer and r0 for a loop.
  After MOST_NODES operations, node N with what is below it is written as #N."""
  left = MOST_NODES

  def text(number: int) -> str:
    nonlocal left
    node = nodes[number]
    op, argument = str(node["op"]), node.get("arg")
    if op == "CONST": return str(argument["value"] if isinstance(argument, dict) and "value" in argument else argument)
    if op == "RANGE": return f"r{first_number(argument)}"
    if op in BUFFERS:
      named = argument.get("ParamArg", {}).get("name") if isinstance(argument, dict) else None
      return str(named) if named else f"data{first_number(argument)}"
    if op in ("DEFINE_VAR", "SPECIAL"): return str(first_number(argument))
    if left == 0: return f"#{number}"
    left -= 1
    sources = [text(s) for s in node.get("src", ())]
    if op in INFIX and len(sources) == 2: return f"({sources[0]}{INFIX[op]}{sources[1]})"
    if op == "INDEX" and sources: return f"{sources[0]}[{', '.join(sources[1:])}]"
    if op in ("CAST", "BITCAST") and sources: return f"{sources[0]}.{op.lower()}({str(node['dtype']).removeprefix('dtypes.')})"
    return f"{op.lower()}({', '.join([*sources, *([json.dumps(argument)] if argument is not None else [])])})"

  return visible(text(number))


@functools.lru_cache(maxsize=64)
def parsed(path: pathlib.Path) -> tuple[str, ast.Module]:
  text = path.read_text()
  return text, ast.parse(text)


def rule_text(rule: str, producer: str) -> str | None:
  """Returns the text of a rule, FILE:LINE of tinygrad. None if the place has none, or if another tinygrad is installed
  than the one that made the record."""
  file, _, line = rule.rpartition(":")
  spec = importlib.util.find_spec("tinygrad")
  if producer != f"tinygrad {installed_version()}" or not spec or not spec.origin or not line.isdigit(): return None
  package = pathlib.Path(spec.origin).parent
  path = (package / file).resolve()
  if not path.is_relative_to(package.resolve()) or not path.is_file(): return None  # a recording may name any file
  text, module = parsed(path)
  begins = [n for n in ast.walk(module) if isinstance(n, (ast.expr, ast.stmt)) and n.lineno == int(line)]
  tuples = [n for n in begins if isinstance(n, ast.Tuple)] or begins  # a rule is a pair of a pattern and a function
  longest = max(tuples, key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0), default=None)
  return "\n".join(map(visible, (ast.get_source_segment(text, longest) or "").splitlines())) if longest else None
