"""Tests the sides of rules with unknown operands, and the programs that show wrong values."""
from __future__ import annotations

from typing import Any

import pytest
from tgc.export import rule_program
from tgc.export.general_rules import general_sides
from tgc.export.rule_instances import constant_of
from tgc.export.rule_program import answer_program
from tinygrad.dtype import dtypes
from tinygrad.uop.ops import Ops, UOp, UPat

X = UPat.var("x")


def element(number: int, dtype: Any) -> Any: return UOp.placeholder((16,), dtype, number).index(constant_of(3))


def is_constant(u: Any) -> bool: return u.op is Ops.CONST and u.dtype in (dtypes.int, dtypes.float)


def test_captured_constants_become_unknown_values() -> None:
  sides = general_sides(X * UPat.cvar("c") + X * UPat.cvar("d"), lambda x, c, d: x * (c + d))
  assert {before.dtype for before, _ in sides} >= {dtypes.int, dtypes.float, dtypes.uchar}
  assert not any(is_constant(u) for pair in sides for side in pair for u in side.toposort())


def test_a_rule_that_looks_at_operands_has_no_general_sides() -> None:
  assert general_sides(X + 0, lambda x: x.src[0] if x.op is Ops.ADD else x) == []
  assert general_sides(X * UPat.cvar("c"), lambda x, c: x.const_like(c.arg // 2)) == []  # Python's quotient


def test_a_guard_becomes_a_condition_of_both_sides() -> None:
  sides = general_sides(UPat.var("x", dtypes.int) * UPat.cvar("c"), lambda x, c: x if c.arg == 1 else None)
  assert sides and all(side.op is Ops.WHERE for pair in sides for side in pair)
  assert general_sides(X + 0, lambda x: x if dtypes.is_float(x.dtype) else None)  # a guard on dtypes selects some
  assert all(dtypes.is_float(a.dtype) for a, _ in general_sides(X + 0, lambda x: x if dtypes.is_float(x.dtype) else None))


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


def test_there_is_no_program_if_tinygrad_computes_the_left_side(monkeypatch: pytest.MonkeyPatch) -> None:
  monkeypatch.setattr(rule_program, "parse_nodes", lambda graph: [graph])
  question = {"place": "uop/symbolic.py:1", "graph": element(1, dtypes.int), "values": {"data1": "3", "before": "3", "after": "4"}}
  assert "computes 3" in answer_program(question)["why"]
  assert "has no text" in answer_program({**question, "values": {"data1": "print(1)", "before": "3", "after": "4"}})["why"]


def test_a_program_has_no_text_of_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
  monkeypatch.setattr(rule_program, "parse_nodes", lambda graph: [graph])
  question = {"place": "x\nprint(1)", "graph": element(1, dtypes.int), "values": {"data1": "3", "before": "2", "after": "3"}}
  assert "print(1)" not in answer_program(question)["program"]
