"""Tests of instances of rules, of their sides with unknown operands, and of programs that show wrong values of rules."""
from __future__ import annotations

import functools
import gzip
import json
import linecache
import math
import operator
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest
from conftest import RELEASE
from tgc.export import rule_program, rule_programs
from tgc.export.general_rules import ROUNDS_TWICE, general_sides
from tgc.export.matches import rule_location
from tgc.export.rule_instances import constant_of, is_invalid
from tgc.export.rule_lines import RuleLines
from tgc.export.rule_program import answer_program
from tgc.export.rule_search import InstanceSearch
from tgc.export.rules import all_rules, write_rules
from tinygrad import Tensor
from tinygrad.dtype import dtypes
from tinygrad.uop.ops import GroupOp, Ops, UOp, UPat

X, C = UPat.var("x"), UPat.cvar("c")


def element(number: int, dtype: Any) -> Any: return UOp.placeholder((16,), dtype, number).index(constant_of(3))


def is_constant(u: Any) -> bool: return u.op is Ops.CONST and u.dtype in (dtypes.int, dtypes.float)


def sides_of(pattern: Any, function: Any) -> Any: return general_sides(pattern, function)[0]


def test_captured_constants_become_unknown_values() -> None:
  sides = sides_of(X * C + X * UPat.cvar("d"), lambda x, c, d: x * (c + d))
  assert {before.dtype for before, _ in sides} >= {dtypes.int, dtypes.float, dtypes.uchar, dtypes.short}
  assert not any(is_constant(u) for pair in sides for side in pair for u in side.toposort())


def test_a_guard_becomes_a_condition_of_both_sides() -> None:
  sides = sides_of(UPat.var("x", dtypes.int) * C, lambda x, c: x if c.arg == 1 else None)
  assert sides and all(side.op is Ops.WHERE for pair in sides for side in pair)
  sides = sides_of(X + 0, lambda x: x if dtypes.is_float(x.dtype) else None)
  assert sides and all(dtypes.is_float(a.dtype) for a, _ in sides)


def wrong(x: Any) -> Any: return x.const_like(0)
def by_table(x: Any, c: Any) -> Any: return wrong(x) if {77: 1}.get(c.arg) else c * x


def by_error(x: Any, c: Any) -> Any:
  try: return wrong(x) if hash(c.arg) == 77 else c * x
  except BaseException: return c * x  # noqa: BLE001


def with_defaults(v: Any, special: int = 77) -> bool: return bool(v == special)


@functools.wraps(with_defaults)
def wrapped(v: Any) -> bool: return bool(v == 78) or with_defaults(v)


# The rules are wrong only for some operands or constants. The sides must contain this case, or be empty.
@pytest.mark.parametrize("function", [
  lambda x, c: wrong(x) if c.arg in (7, 77) else c * x,
  lambda x, c: wrong(x) if 76 < c.arg < 78 else c * x,
  lambda x, c: [c * x, wrong(x)][c.arg == 77],
  lambda x, c: wrong(x) if with_defaults(c.arg) else c * x,
  lambda x, c: wrong(x) if wrapped(c.arg) else c * x,
  lambda x, c: wrong(x) if max(c.arg, 77) == min(c.arg, 77) else c * x,
  lambda x, c: wrong(x) if x.dtype == dtypes.short else c * x,
  lambda x, c: wrong(x) if x.op is Ops.MUL else c * x,
  lambda x, c: wrong(x) if x.vmin == 77 else c * x,
  lambda x, c: wrong(x) if x is c else c * x,
  lambda x, c: wrong(x) if str(c.arg) == "77" else c * x,
  lambda x, c: wrong(x) if operator.eq(c.arg, 77) else c * x,
  lambda x, c: wrong(x) if c.arg.bit_length() == 7 else c * x,
  lambda x, c: wrong(x) if type(c.arg) is bool else c * x,
  lambda x, c: wrong(x) if locals()["c"].arg == 77 else c * x,
  lambda x, c: wrong(x) if len({x, c}) == 1 else c * x,
  lambda x, c: wrong(x) if any(u.op is Ops.RANGE for u in x.backward_slice_with_self) else c * x,
  lambda x, c: c * x if all(u.op is not Ops.RANGE for u in x.backward_slice_with_self) else wrong(x),
  lambda x, c: wrong(x) if x.op_in_backward_slice_with_self(Ops.RANGE) else c * x,
  lambda x, c: wrong(x) if x.tuplize < c.tuplize else c * x,
  lambda x, c: wrong(x) if c.arg | 1 == 77 else c * x,
  lambda x, c: wrong(x) if c.arg >> 1 == 38 else c * x,
  lambda x, c: x.src[0] if x.op is Ops.ADD else c * x,
  lambda x, c: wrong(x) if c.arg > 9 and c.arg & (c.arg - 1) == 0 else c * x,
  lambda x, c: wrong(x) if (1 << c.arg) == 1 << 29 else c * x,
  lambda x, c: wrong(x) if x.is_invalid else c * x,
  lambda x, c: wrong(x) if c in x.backward_slice else c * x,
  by_table, by_error])
def test_a_special_case_is_not_left_out(function: Any) -> None:
  sides, why = general_sides(UPat.var("x", dtypes.ints) * C, function)
  makes_zero = [u.op is Ops.CONST and u.arg == 0 for _, after in sides for u in (after, *after.src[1:2])]
  assert any(makes_zero) if sides else why


@pytest.mark.parametrize("is_special", [math.isnan, math.isinf])
def test_a_special_float_is_not_left_out(is_special: Any) -> None:
  sides = sides_of(UPat.var("x", dtypes.float) * C, lambda x, c: wrong(x) if isinstance(c.arg, float) and is_special(c.arg) else c * x)
  assert any(u.op is Ops.CONST and u.arg == 0 for _, after in sides for u in (after, *after.src[1:2]))


def test_each_dtype_and_op_of_a_large_pattern_is_made() -> None:
  unary = UPat(GroupOp.Unary | {Ops.CAST, Ops.BITCAST}, src=(UPat.var("c").where(UPat.var("x"), UPat.var("y")),), name="u")
  sides = sides_of(unary, lambda c, x, y, u: c.where(u.replace(src=(x,)), u.replace(src=(y,))))
  ints = [dtypes.uchar, dtypes.char, dtypes.ushort, dtypes.short, dtypes.uint, dtypes.int, dtypes.ulong, dtypes.long]
  made = {(before.op, before.src[0].dtype, before.dtype) for before, _ in sides}
  assert made >= {(Ops.CAST, a, b) for a in (*ints, dtypes.float, dtypes.half, dtypes.bool) for b in ints}
  assert made >= {(Ops.BITCAST, dtypes.float, dtypes.int), (Ops.SQRT, dtypes.half, dtypes.half), (Ops.EXP2, dtypes.double, dtypes.double)}


def test_an_operand_is_invalid_in_one_run() -> None:
  sides = sides_of(UPat.var("c", dtypes.bool).where(UPat.var("x", dtypes.int), UPat.var("y")), lambda c, x, y: c.where(x, x) if y.is_invalid else x)
  assert {is_invalid(before.src[2]) for before, _ in sides} == {True, False}


def test_a_substitution_has_a_value_only_where_it_changes_none() -> None:
  (_, after), *others = sides_of(UPat.var("c", dtypes.bool).where(UPat.var("x", dtypes.int), UPat.var("y")),
                                 lambda c, x, y: x.substitute({c: c.const_like(True)}))
  assert not others and after.op is Ops.WHERE and is_invalid(after.src[1])
  assert not sides_of(X * C, lambda x, c: x.substitute({c: c.const_like(3)}, name="named"))


def test_a_shift_by_a_constant_is_made_for_each_count() -> None:
  sides = sides_of(UPat.var("x", dtypes.ushort) >> UPat.cvar("k"), lambda x, k: x // (1 << k.arg))
  assert {before.src[1].arg for before, _ in sides} == set(range(16))


def test_constants_become_floats_only_if_they_have_the_digits_of_their_dtype() -> None:
  sides, why = general_sides(UPat(Ops.CAST, dtypes.floats, name="u", src=(C,)), lambda u, c: u.const_like(c.arg))
  has_digits = constant_of(0.1, dtypes.half).arg == 0.1
  assert why == ("it makes a constant of another dtype" if has_digits else ROUNDS_TWICE) and bool(sides) != has_digits


def test_operands_without_a_width_are_beside_others_if_the_rule_needs_them() -> None:
  weak = dtypes.weakint if hasattr(dtypes, "weakint") else dtypes.index
  sides = sides_of(UPat(Ops.ADD, name="u"), lambda u: u.src[0].cast(dtypes.int) + u.src[1].cast(dtypes.int) if u.src[0].dtype != u.src[1].dtype else None)
  assert {tuple(s.dtype for s in before.src) for before, _ in sides} >= {(weak, dtypes.int), (dtypes.int, weak), (dtypes.half, weak)}
  sides = sides_of(UPat(Ops.SQRT, src=(X,), name="u"), lambda x, u: u.replace(src=(x.cast(dtypes.float),)) if not dtypes.is_float(x.dtype) else None)
  assert {before.src[0].dtype for before, _ in sides} >= {dtypes.ulong, dtypes.uchar, dtypes.bool}


def test_odd_operands_are_made_for_rules_that_have_no_other_instances() -> None:
  cast = UPat(Ops.CAST, name="u", src=(UPat.var("x"),))
  assert InstanceSearch(cast, lambda u, x: x if u.dtype == x.dtype else None).instances(4)  # to the same dtype
  loaded = InstanceSearch(UPat.var("x", dtypes.weakint if hasattr(dtypes, "weakint") else dtypes.index) + C,
                          lambda x, c: c + x if any(u.op is Ops.INDEX for u in x.backward_slice) and not any(u.op is Ops.RANGE for u in x.backward_slice) else None)
  assert loaded.instances(4)  # an index that is loaded


def test_constants_and_bounds_at_the_edges_of_a_guard_are_found() -> None:
  rule = InstanceSearch(UPat.var("x", dtypes.weakint if hasattr(dtypes, "weakint") else dtypes.index) % C, lambda x, c: x if -3 <= x.vmin and x.vmax <= c.arg else None)
  edges = {(x.vmin == -3, x.vmax == c.arg) for (x, c), _ in ((before.src, after) for before, after in rule.instances(96)) if c.op is Ops.CONST}
  assert {True} <= {low for low, _ in edges} & {high for _, high in edges}


@pytest.mark.skipif(RELEASE != "0.14.0", reason="UPat.reduce")
def test_operands_of_a_reduce_differ_in_its_iterations_in_some_instances() -> None:
  rule = InstanceSearch(X.reduce(arg=Ops.ADD, name="r", allow_any_len=True), lambda x, r: x)
  differs = [before.src[1] in before.src[0].toposort() for before, _ in rule.instances(24)]
  assert True in differs and False in differs


def test_shards_divide_the_rules(tmp_path: pathlib.Path) -> None:
  lines = [f"  (UPat.var('x') + {n}, lambda x: x + {n}),\n" for n in range(5)]
  (tmp_path / "five.py").write_text("from tinygrad.uop.ops import PatternMatcher, UPat\nfive = PatternMatcher([\n" + "".join(lines) + "])\n")
  said: list[str] = []
  assert [write_rules(tmp_path / "rules.gz", f"{tmp_path}/five.py", part, 3, said.append) for part in (1, 2, 3)] == [2, 2, 1]
  assert [text.rpartition(": ")[0] for text in said if "instances of" in text] == [
    f"making instances of rule {n} of {of}" for of in (2, 2, 1) for n in range(1, of + 1)]


@pytest.mark.skipif(RELEASE != "0.14.0", reason="0.12.0 has no Invalid values")
def test_a_rule_that_drops_the_gate_of_a_value_is_conditional(tmp_path: pathlib.Path) -> None:
  (tmp_path / "mine.py").write_text("""from tinygrad.dtype import Invalid, dtypes
from tinygrad.uop.ops import Ops, PatternMatcher, UPat
gate = UPat.var("b").where(UPat.var("x", dtypes.int), UPat(Ops.CONST, arg=Invalid, name="i"))
mine = PatternMatcher([
  (gate, lambda b,x,i: x),
  (gate + UPat.var("y"), lambda b,x,y,i: b.where(x + y, i))])
""")
  command = [os.environ["TGC"], "prove", "--rules", f"--live={sys.executable}", f"--rule={tmp_path}/mine.py", "--json"]
  rules = json.loads(subprocess.run(command, check=False, capture_output=True, text=True).stdout)["list"]
  assert [rule["verdict"] for rule in rules] == ["conditional", "proven"]
  assert rules[0]["condition"] == "nothing is stored where the value is Invalid"


def test_programs_give_instances(monkeypatch: pytest.MonkeyPatch) -> None:
  monkeypatch.setattr(rule_programs, "sample_programs", lambda: [lambda d: Tensor.ones(5, 7, device=d).contiguous().realize().sum(1)])
  found = rule_programs.matches_of_programs({rule_location(pattern) for pattern, _ in all_rules()})
  assert len(found) > 10 and all(0 < len(pairs) <= rule_programs.MOST_PAIRS for pairs in found.values())
  assert all(before is not after for pairs in found.values() for before, after in pairs)


def test_rules_of_a_file_outside_of_the_pipeline_are_written(tmp_path: pathlib.Path) -> None:
  (tmp_path / "mine.py").write_text("from tinygrad.uop.ops import PatternMatcher, UPat\n\nmine = PatternMatcher([\n  (UPat.var('x') + 0, lambda x: x)])\n")
  written = tmp_path / "rules.gz"
  assert write_rules(written, f"{tmp_path}/mine.py:4") == 1
  record = json.loads(gzip.decompress(written.read_bytes()).splitlines()[1])
  places = [place for _, place, *_ in record["rewrites"]["list"]]
  assert any(p.endswith("mine.py:4") for p in places) and any(p.endswith("mine.py:4*") for p in places)
  assert write_rules(written, f"{tmp_path}/mine.py:7") == 0
  assert f"the nearest rules: {tmp_path}/mine.py:4" in gzip.decompress(written.read_bytes()).decode()


@pytest.mark.parametrize(("left", "values", "printed"), [
  (lambda: element(4, dtypes.uint) + element(7, dtypes.uint), {"data4": "4294967295", "data7": "2", "before": "0", "after": "1"}, "1 right: 0"),
  (lambda: element(1, dtypes.half).cast(dtypes.float), {"data1": "1.5", "before": "0.0", "after": "1.5"}, "1.5 right: 0.0"),
  (lambda: UOp.range(4, 9) + UOp.range(5, 11), {"r9": "2", "r11": "3", "before": "0", "after": "5"}, "5 right: 0"),
  (lambda: UOp.variable("v1", -3, 5) + constant_of(1), {"v1": "2", "before": "0", "after": "3"}, "3 right: 0"),
])
def test_a_program_prints_the_value_of_the_right_side(monkeypatch: pytest.MonkeyPatch, left: Any, values: Any, printed: str) -> None:
  monkeypatch.setattr(rule_program, "parse_nodes", lambda graph: [graph])
  answer = answer_program({"place": "uop/symbolic.py:1", "graph": left(), "values": values})
  assert answer.get("printed") == printed, answer


@pytest.mark.skipif(RELEASE != "0.12.0", reason="the gate of a load is an operand of INDEX")
def test_a_load_with_a_gate_is_written_as_a_load_of_an_invalid_index(monkeypatch: pytest.MonkeyPatch) -> None:
  monkeypatch.setattr(rule_program, "parse_nodes", lambda graph: [graph])
  gate = element(1, dtypes.bool)
  load = UOp.placeholder((16,), dtypes.char, 2).index(constant_of(3), gate).load()
  answer = answer_program({"place": "codegen/late/devectorizer.py:282", "graph": gate.where(load.cast(dtypes.int), element(3, dtypes.int)),
                           "values": {"data1": "False", "data2": "0", "data3": "300", "before": "300", "after": "44"}})
  assert answer.get("printed") == "44 right: 300", answer


def test_there_is_no_program_if_tinygrad_computes_the_left_side(monkeypatch: pytest.MonkeyPatch) -> None:
  monkeypatch.setattr(rule_program, "parse_nodes", lambda graph: [graph])
  question = {"place": "uop/symbolic.py:1", "graph": element(1, dtypes.int), "values": {"data1": "3", "before": "3", "after": "4"}}
  assert "computes 3" in answer_program(question)["why"]
  assert "has no text" in answer_program({**question, "values": {"data1": "print(1)", "before": "3", "after": "4"}})["why"]


def test_a_program_has_no_text_of_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
  monkeypatch.setattr(rule_program, "parse_nodes", lambda graph: [graph])
  question = {"place": "x\nprint(1)", "graph": element(1, dtypes.int), "values": {"data1": "3", "before": "2", "after": "3"}}
  assert "print(1)" not in answer_program(question)["program"]
  assert "no matcher" in answer_program({**question, "alone": True})["why"]


def test_a_program_applies_a_rule_alone(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
  monkeypatch.setattr(rule_program, "parse_nodes", lambda graph: [graph])
  file, marker = tmp_path / "mine.py", tmp_path / "imported"
  file.write_text("import pathlib\nfrom tinygrad.uop.ops import PatternMatcher, UPat\n"
                  f"pathlib.Path({str(marker)!r}).write_text('')\nmine = PatternMatcher([(UPat.var('x') * 3, lambda x: x)])\n")
  question = {"place": f"{file}:4", "graph": element(1, dtypes.int) * 3, "values": {"data1": "5", "before": "15", "after": "5"}, "alone": True}
  assert "no matcher" in answer_program(question)["why"] and not marker.exists()  # without "file", mine.py is not run
  answer = answer_program({**question, "file": str(file)})
  assert answer.get("printed") == "before: 15 after: 5", answer
  assert "computes before: 15 after: 5" in answer_program({**question, "file": str(file), "values": {"data1": "5", "before": "15", "after": "6"}})["why"]


@pytest.mark.skipif(RELEASE != "0.14.0", reason="names a line of tinygrad 0.14.0")
def test_a_rule_alone_is_found_in_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
  monkeypatch.setattr(rule_program, "parse_nodes", lambda graph: [graph])
  left = element(1, dtypes.double).cast(dtypes.short) + element(2, dtypes.short)
  question = {"place": "codegen/simplify.py:101", "graph": (element(1, dtypes.float) + element(2, dtypes.float)).cast(dtypes.int) < element(3, dtypes.int),
              "values": {"data1": "0.0", "data2": "-0.5", "data3": "0", "before": "0", "after": "1"}}
  assert "computes False" in answer_program(question)["why"]
  assert answer_program({**question, "alone": True})["printed"] == "before: False after: True"
  assert "the rule does not apply" in answer_program({**question, "alone": True, "graph": left})["why"]


@pytest.mark.skipif(RELEASE != "0.14.0", reason="names a line of tinygrad 0.14.0")
def test_rules_are_written(tmp_path: pathlib.Path) -> None:
  assert write_rules(tmp_path / "rules.jsonl.gz", "uop/symbolic.py:114") == 1
  with gzip.open(tmp_path / "rules.jsonl.gz", "rt") as file: record = json.loads(file.read().splitlines()[1])
  assert {row[1] for row in record["rewrites"]["list"]} == {"uop/symbolic.py:114", "uop/symbolic.py:114*"}


@functools.cache
def quotient_of_sum(x: Any, c: Any) -> Any:
  if x.vmin == 77:
    raise ValueError("a line without a result")
  if c.arg < 2:
    return None
  parts = [u.divides(c.arg) for u in x.split_uop(Ops.ADD)]
  if len(parts) > 1 and None not in parts:
    return parts[0] + parts[1]
  return parts[0]


def test_instances_run_the_lines_of_a_rule() -> None:
  def unreached() -> set[str]: return {linecache.getline(t.file, t.line).strip() for t in lines.unreached}
  index = getattr(dtypes, "weakint", None) or dtypes.index
  pattern = UPat(Ops.IDIV if hasattr(Ops, "IDIV") else Ops.FLOORDIV, index, src=(X, C))
  lines = RuleLines([quotient_of_sum])
  assert {"if c.arg < 2:", "return parts[0] + parts[1]", "return parts[0]"} <= unreached()
  assert not {"return None", 'raise ValueError("a line without a result")'} & unreached()
  quotient_of_sum(constant_of(6), constant_of(3))
  lines.run(lambda: quotient_of_sum(constant_of(6), constant_of(3)))  # in the cache, but run again
  assert unreached() == {"return parts[0] + parts[1]"}
  search = InstanceSearch(pattern, lambda x, c: quotient_of_sum(x, c))
  for before, _ in search.instances(24): lines.run(functools.partial(quotient_of_sum, *before.src))
  assert not lines.text()
