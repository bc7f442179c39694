"""Tests of the functions and objects of the package tgc."""
from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

import pytest
import tgc
from conftest import RELEASE, ROOT
from tgc import nodes, process, recording
from tgc.reports import command_line_options


def test_recording_lists_kernels_and_schedules(recording: tgc.Recording) -> None:
  assert not recording.open
  assert next(k.id for k in recording.kernels).startswith("two.")
  assert len(recording.kernels) >= 3  # the product, and at least two of the softmax
  assert recording.schedules
  assert RELEASE in repr(recording)
  assert recording.kernels[0].name in str(recording)
  assert recording[recording.kernels[1].id].id == recording.kernels[1].id
  with pytest.raises(KeyError, match="no record 'none'"): recording["none"]


def test_runtime_kernels_are_left_out(tmp_path: pathlib.Path) -> None:
  head = {"format": "tgc-golden", "version": 1, "level": "kernel", "producer": "tinygrad 0.14.0", "settings": {}}
  graph = '{"format":"tgc-graph","version":1,"producer":"tinygrad 0.14.0","nodes":[\n{"op":"SINK","dtype":"dtypes.void"}\n]}\n'
  records = [{"id": f"p.{i}", "target": "CPU:CLANG", "nodes": 1, "ast": graph, "stages": [], "runtime": i == 0} for i in range(2)]
  file = tmp_path / "run.jsonl"
  file.write_text("\n".join(map(json.dumps, [head, *records])) + "\n")
  loaded = tgc.load(file)
  assert [k.id for k in loaded.all_kernels] == ["p.0", "p.1"]
  assert [k.id for k in loaded.kernels] == ["p.1"]


def test_printed_objects_have_no_controls(tmp_path: pathlib.Path) -> None:
  head = {"format": "tgc-golden", "version": 1, "level": "kernel", "producer": "tinygrad 0.14.0", "settings": {}}
  graph = '{"format":"tgc-graph","version":1,"producer":"tinygrad 0.14.0","nodes":[\n{"op":"SINK","dtype":"dtypes.void"}\n]}\n'
  record = {"id": "p.0", "target": "CPU:CLANG", "nodes": 1, "ast": graph, "stages": [],
            "error": "x\x1b]0;title\x07\n::error::forged", "metadata": [{"name": "m\u009b2J", "caller": "a.py:1"}],
            "source": "int x;\r\n::error::forged\n\t##[error]forged\x1b]52;c;aGk=\x07"}
  schedule = {"id": "p", "device": "CPU", "nodes": 1, "ast": graph, "stages": [],
              "kernels": [{"ast": graph, "bufs": [], "metadata": [{"name": "m\x1b]0;t\n::error::forged", "caller": "a.py:1"}]}]}
  file = tmp_path / "run.jsonl"
  file.write_text("\n".join(map(json.dumps, [head, record])) + "\n")
  (tmp_path / "run.tensor.jsonl").write_text("\n".join(map(json.dumps, [{**head, "level": "tensor"}, schedule])) + "\n")
  loaded = tgc.load(file)
  for text in (str(loaded), repr(loaded), str(loaded.kernels[0]), repr(loaded.kernels[0]), str(loaded.schedules[0])):
    assert all(c.isprintable() or c == "\n" for c in text)
    assert not any(line.lstrip().startswith(("::", "##")) for line in text.splitlines())
  assert process.visible("a\u00a0\x1b[2J\n") == "a\\xa0\\x1b[2J\\n"


def test_kernel_has_facts(kernel: tgc.Kernel) -> None:
  assert kernel.target == "CPU:CLANG"
  assert kernel.source
  assert "for (int" in kernel.source
  assert kernel.program.function_name in kernel.source
  assert kernel.linear
  assert kernel.nodes > 10
  assert kernel.error is None
  assert "test_api" not in kernel.made_for  # made_for names the line of the program
  assert "conftest.py" in kernel.made_for
  text = str(kernel)
  assert kernel.source in text
  assert "global_size" in text
  assert kernel.ast.splitlines()[-1].startswith("ast = ")


def test_stages_by_any_name(kernel: tgc.Kernel) -> None:
  stage = kernel.stages["expander"]
  assert stage is kernel.stages["EXPANDER"]
  assert stage is kernel.stages["expand"]
  assert stage.changed
  assert stage in kernel.stages.changed()
  assert "ast = " in str(stage)
  assert stage.nodes[-1]["op"] == "SINK"
  assert next(iter(kernel.stages)) != "expander"
  assert len(kernel.stages) > 10
  same = next(s for s in kernel.stages.values() if not s.changed)
  assert same.nodes[-1]["op"] == "SINK"  # the graph of the stage before
  assert "unchanged" in repr(same)
  with pytest.raises(KeyError, match="its stages are"): kernel.stages["no such stage"]


def test_rewrites_name_rules(kernel: tgc.Kernel, recording: tgc.Recording) -> None:
  assert len(kernel.rewrites) > 20
  first = kernel.rewrites[0]
  assert first.stage in kernel.stages
  assert ".py:" in first.rule
  assert first.before != first.after
  assert first.before.startswith("#")
  assert any(s.rewrites for s in recording.schedules)


def test_find_nan() -> None:
  from tinygrad import Tensor
  with tgc.record(watch_nan=True) as made: Tensor([4.0, -1.0]).realize().sqrt().realize()
  found = tgc.find_nan(made)
  assert found is not None and "sqrt(-1) = nan" in str(found) and "test_api.py:" in str(found)
  with tgc.record(watch_nan=True) as made: Tensor([4.0, 1.0]).realize().sqrt().realize()
  assert tgc.find_nan(made) is None


def test_rewrites_have_expressions_and_rules(kernel: tgc.Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
  folded = next(w for w in kernel.rewrites if w.after_expression.isdecimal() and w.before_expression != w.after_expression)
  assert "r" in folded.before_expression or any(c.isdecimal() for c in folded.before_expression)
  assert str(folded) == f"{folded.rule} in {folded.stage}: {folded.before_expression} -> {folded.after_expression}"
  assert any("UPat" in (w.rule_text or "") for w in kernel.rewrites)
  graph: list[dict[str, Any]] = [{"op": "CONST", "dtype": "dtypes.int", "arg": 3}, {"op": "RANGE", "dtype": "dtypes.int", "src": [0], "arg": [2, {"value": "AxisType.LOOP"}]},
           {"op": "PARAM", "dtype": "dtypes.int", "arg": {"ParamArg": {"*": [1]}}}, {"op": "INDEX", "dtype": "dtypes.int", "src": [2, 1]},
           {"op": "CAST", "dtype": "dtypes.float", "src": [3]}, {"op": "ADD", "dtype": "dtypes.float", "src": [4, 0]}]
  assert nodes.expression(graph, 5) == "(data1[r2].cast(float)+3)"
  wide: list[dict[str, Any]] = [{"op": "CONST", "dtype": "x", "arg": 1}, *({"op": "STACK", "dtype": "x", "src": [i] * 8} for i in range(40))]
  assert "#" in nodes.expression(wide, 40)  # not 8**40 nodes
  assert nodes.rule_text("../../etc/passwd:1", kernel.producer) is None
  monkeypatch.setattr(nodes, "installed_version", lambda: "0.1.0")
  assert folded.rule_text is None


def test_facts_are_typed(kernel: tgc.Kernel, recording: tgc.Recording) -> None:
  assert "\x1b" not in kernel.name + kernel.program.name
  assert isinstance(kernel.program.ops, int) and kernel.program.ops > 100
  assert kernel.program.globals == (0, 1, 2) and kernel.program.outs == (0,)
  variables = tgc.Program.from_json({"name": "\x1b[34mE\x1b[0m_4", "ops": "i*4", "vars": [["i", 1, 9]], "global_size": ["i", "1"]})
  assert variables == tgc.Program(name="E_4", ops="i*4", variables=(tgc.Variable("i", 1, 9),), global_size=("i", 1))
  assert "E_" in kernel.asm or "r_" in kernel.asm
  assert kernel.resources.code_bytes and kernel.resources.spills and "LLVM" in kernel.resources.compiler
  schedule = next(s for s in recording.schedules if kernel.id in [k.id for k in s.kernels])
  assert all(isinstance(k, tgc.Kernel) for k in schedule.kernels)
  assert recording[kernel.id] is schedule.kernels[[k.id for k in schedule.kernels].index(kernel.id)]
  call = next(c for c in schedule.calls if c.kernel is kernel)
  assert [b.size for b in call.buffers] == [64, 64, 64] and call.metadata
  part = {"base": 1, "offset": 0, "size": 4, "dtype": "dtypes.int"}
  assert len(tgc.Buffer.from_json({"multi": [part, {**part, "base": 2}]}).parts) == 2  # on two devices


def test_recording_is_a_sequence(recording: tgc.Recording) -> None:
  assert recording[0] is recording.kernels[0] and recording[-1] is recording.kernels[-1]
  assert list(recording) == recording.kernels and len(recording) == len(recording.kernels)
  named = next(k for k in recording if [k.name for k in recording.all_kernels].count(k.name) == 1)
  assert recording[named.name] is named
  with pytest.raises(IndexError): recording[1000]


def test_process_that_compiled_before_is_recorded_whole() -> None:
  """Compiled matchers have copies of tinygrad's functions, which the recorder must replace, too."""
  from tinygrad import Tensor
  (Tensor.empty(5, 5) @ Tensor.empty(5, 5)).softmax().realize()
  with tgc.record() as made: (Tensor.empty(5, 5) @ Tensor.empty(5, 5)).softmax().realize()
  assert any("rangeify" in name for s in made.schedules for name in s.stages)


def test_prove_and_bench(kernel: tgc.Kernel) -> None:
  proofs = tgc.prove(kernel)
  assert proofs.proven and proofs.verdict == "proven" and proofs.rule is None and "proven" in repr(proofs)
  assert proofs[0].rewrites == proofs[0].proven > 10 and "proven" in str(proofs)
  time = tgc.bench(kernel, explain=1)[0]
  assert 0 < time.seconds <= time.median < 1 and time.flops > 100 and "GFLOPS" in str(time)


@pytest.mark.skipif(RELEASE.startswith("0.11"), reason="needs tinygrad 0.12")
def test_opts_in_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
  from tinygrad import Tensor, codegen
  from tinygrad.helpers import ansistrip
  made, own = [], codegen.apply_opts
  def watched(*args: object, **kwargs: object) -> object:
    made.append((result := own(*args, **kwargs)).arg)
    return result
  monkeypatch.setattr(codegen, "apply_opts", watched)
  a, b = Tensor.rand(24, 24).realize(), Tensor.rand(24, 24).realize()
  (a @ b).realize()
  name, own_opts = re.sub(r"n\d+$", "", ansistrip(made[-1].name)), made[-1].applied_opts
  def use(name: str, opts: str) -> tuple[object, ...]:
    names = [name, *(f"{name}n{i}" for i in range(1, 9))]  # up to 0.13, tinygrad numbers kernels of the same name
    text = (ROOT / "testdata/programs/opts.py").read_text().partition("use_opts({")
    lines: dict[str, object] = {}
    exec(text[0] + f"opts = {opts}\nuse_opts(dict.fromkeys({names}, opts))", lines)  # noqa: S102
    return tuple(lines["opts"])  # type: ignore[arg-type]
  first = use(name, "[Opt(OptOps.UPCAST, 0, 4), Opt(OptOps.UNROLL, 0, 2)]")
  (a @ b).relu().realize()
  assert made[-1].applied_opts == first != own_opts
  # the second apply_opts() replaces that of the first program, and calls it
  second = use(re.sub(r"n\d+$", "", ansistrip(made[-1].name)), "[Opt(OptOps.UPCAST, 1, 4)]")
  (a @ b).exp().realize()
  assert made[-1].applied_opts == second


@pytest.mark.skipif(RELEASE.startswith(("0.11", "0.12", "0.13")), reason="0.14 and later compile in several processes")
def test_opts_in_a_schedule_of_several_kernels(tmp_path: pathlib.Path) -> None:
  program = tmp_path / "program.py"
  lines = (ROOT / "testdata/programs/opts.py").read_text().partition("use_opts({")[0]
  program.write_text(lines + """use_opts({"E_40_24_4": [Opt(OptOps.UPCAST, 0, 2)]})
from tinygrad import Tensor
x = Tensor.rand(96, 40).realize()
y = (x.sum(0).contiguous() + (x * 2).T.contiguous().sum(1)).realize()
""")
  environment = {k: v for k, v in os.environ.items() if k != "PARALLEL"} | {"DEBUG": "2"}
  done = subprocess.run([sys.executable, program], text=True, capture_output=True, env=environment, check=True)
  assert "opts not used" not in done.stdout and "E_20_96_2" in re.sub(r"\x1b\[\d+m", "", done.stdout)


@pytest.mark.skipif(RELEASE.startswith("0.11"), reason="needs tinygrad 0.12")
def test_beam_in_this_tinygrad(kernel: tgc.Kernel, tmp_path: pathlib.Path) -> None:
  """With `--live`, this tinygrad applies the opts and compiles the kernels."""
  found = process.call_json("beam", str(recording.input_of(kernel)), f"--live={sys.executable}", "--width=1", "--budget=1",
                            f"--results={tmp_path / 'beam.db'}")
  assert found["applied_by"] == f"tinygrad {RELEASE}" and found["reference"]
  assert found["before_opts"] == re.findall(r"Opt\([^)]*\)", kernel.program.applied_opts)


def test_proof_that_refutes() -> None:
  found = tgc.prove(ROOT / "testdata/import/prove_unsound.jsonl.gz#unsound14.4")
  assert found.verdict == "refuted" and found.rule == "uop/symbolic.py:273" and not found.proven
  point = found[0].refuted[0].counterexample
  assert point is not None and {point["before"], point["after"]} == {0, 1}
  assert nodes.values_of({"a": "-0.5", "b": "nan", "c": "[1, 2]"})["a"] == -0.5
  assert "refuted: uop/symbolic.py:273" in str(found)


def test_profile() -> None:
  found = tgc.profile(ROOT / "testdata/profile/gfx1100_gemm_run_0.pkl.gz")
  assert found.kernels and found.kernels[0].seconds and found.counters and found.instructions[0].cycles >= 0
  assert "kernels" in str(found) and "\x1b" not in found.kernels[0].name


def test_run_of_a_schedule(recording: tgc.Recording) -> None:
  schedule = next(s for s in recording.schedules if s.kernels)
  assert str(tgc.run(schedule)[0]).startswith(schedule.id)


def test_tensors() -> None:
  from tinygrad import Tensor
  assert tgc.run((Tensor.empty(4, 4) + 1).sum()).passed
  assert tgc.bisect((Tensor.empty(4, 4) + 1).sum()).rule is None
  assert "iframe" in tgc.view((Tensor.empty(4, 4) + 1).sum())._repr_html_()


def test_explain() -> None:
  from tinygrad import Tensor
  def model(x: Any, scale: float = 1) -> dict[str, Any]: return {"y": [(x @ x).softmax() * scale]}
  found = tgc.explain(model)(Tensor.empty(8, 8), scale=2)
  assert found.result["y"][0].shape == (8, 8) and found.passed and not found.faults
  assert len(found.runs) == len(found.times) == len(found.recording) >= 3
  text = str(found)
  assert "faults: none" in text and "GFLOPS" in text and "softmax at test_api.py:" in text
  if RELEASE != "0.11.0": assert "it is an output of the graph" in text
  quick = tgc.explain(model, compare=False, times=False)(Tensor.empty(8, 8))
  assert "not looked for" in str(quick) and not quick.times


def test_explain_names_faults(monkeypatch: pytest.MonkeyPatch) -> None:
  from tinygrad import Tensor
  from tinygrad.renderer.cstyle import ClangRenderer
  from tinygrad.uop.ops import Ops
  monkeypatch.setitem(ClangRenderer.code_for_op, Ops.XOR, lambda a, b, dtype: f"({a}|{b})")
  x, y = Tensor([1, 3, 5, 7]).realize(), Tensor([9, 9, 9, 9]).realize()
  found = tgc.explain(lambda x, y: x ^ y, times=False)(x, y)
  assert not found.passed
  is_native = RELEASE == "0.12.0"  # bisect renders these records again
  assert [f.verdict for f in found.faults] == ["same" if is_native else "renderer"]
  assert ("the cause was not found" if is_native else "renderer") in str(found)


def test_messages_name_python_options(kernel: tgc.Kernel) -> None:
  with pytest.raises(tgc.TgcError, match="no option 'nonsense=True'"): tgc.run(kernel, nonsense=True)
  assert process.in_python("needs --device=CPU:LLVM, --each-stage or --atol=0.1; see `tgc run --native`") == \
    'needs device="CPU:LLVM", each_stage=True or atol=0.1; see `tgc run --native`'
  assert process.in_python("record with --rewrites and --save-inputs; --set NOOPT=1, --try") == \
    'record with tgc.record(rewrites=True) and tgc.record(inputs=True); set="NOOPT=1", try_=True'


def test_rewrites_that_were_not_recorded() -> None:
  from tinygrad import Tensor
  with tgc.record(rewrites=False) as made: Tensor.empty(5, 7).sum(0).realize()
  with pytest.raises(tgc.TgcError, match="record it with rewrites=True"): _ = made.kernels[0].rewrites


def test_run_bisect_diff_lint(kernel: tgc.Kernel, recording: tgc.Recording, tmp_path: pathlib.Path) -> None:
  result = tgc.run(kernel)
  assert result.passed
  assert not result.failed
  assert len(result) == 1
  assert "passed" in str(result)
  assert "1 passed" in repr(result)
  assert result[0].device.startswith("CPU")
  assert "kernel" in dir(result[0])
  assert len(result[:1]) == 1
  with pytest.raises(AttributeError): _ = result[0].no_such_fact  # type: ignore[attr-defined]
  found = tgc.bisect(kernel)
  assert found.passed
  assert "verdict: same" in str(found)
  saved = recording.save(tmp_path / "golden.jsonl.gz")
  difference = tgc.diff(recording, saved)
  assert difference.same
  assert not difference
  assert difference.kernels["same"] == len(recording.all_kernels)
  assert tgc.lint(recording) == []


def test_run_of_all_kernels(recording: tgc.Recording) -> None:
  assert len(tgc.run(recording)) == len(recording.kernels)
  assert tgc.run(recording).passed


def test_failing_kernel(kernel: tgc.Kernel, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
  file = tmp_path / "kernel.uop"
  buffers = "".join(f"c{i} = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(40), arg={i}, src=())\n" for i in range(3))
  file.write_text(buffers + "c3 = UOp.range(40, 0, AxisType.LOOP)\n"
                  "ast = c0.index(c3, ptr=True).store(c1.index(c3)^c2.index(c3)).end(c3).sink(arg=KernelInfo())\n")
  assert tgc.run(file).passed
  monkeypatch.setenv("TGC_FAULT", "renderer:LLVM.XOR")
  result = tgc.run(str(file), repro=str(tmp_path / "bundle.json"))
  assert not result.passed
  assert len(result.failed) == 1
  assert (tmp_path / "bundle.json").exists()
  found = tgc.bisect(file)
  assert not found.passed
  assert found.verdict == "renderer" and found.repeat
  assert "Bisection" in repr(found)


def test_difference_names_the_stage(recording: tgc.Recording, tmp_path: pathlib.Path) -> None:
  from tinygrad import Tensor
  with tgc.record(tmp_path / "other.jsonl.gz", name="two") as other: (Tensor.empty(8, 8) @ Tensor.empty(8, 8)).exp().realize()
  found = tgc.diff(recording.kernels[0], other.kernels[-1])
  assert found
  assert not found.same
  assert "EXP2" in found.text
  assert found.text == str(found)
  assert isinstance(found.differing, list)


def test_check(tmp_path: pathlib.Path) -> None:
  goldens = ROOT / "testdata/golden/kernels.jsonl.gz"
  assert tgc.check(f"{goldens}#bert_mini.31").identical == 1


def test_page(kernel: tgc.Kernel, recording: tgc.Recording, tmp_path: pathlib.Path) -> None:
  page = tgc.view(kernel, height=321)
  html = page._repr_html_()
  assert html.startswith("<iframe srcdoc=")
  assert 'height="321"' in html
  assert page.save(tmp_path / "page.html").read_text() == page.html
  assert "KiB" in repr(page)
  assert page.html != tgc.view(recording.kernels[1]).html
  assert 'src="http' not in page.html
  assert len(tgc.view(kernel, recording.kernels[1]).html) > 1000
  assert kernel._repr_html_().startswith("<iframe")


def test_debug() -> None:
  from tinygrad import Tensor
  shown = tgc.debug((Tensor.empty(8, 8) @ Tensor.empty(8, 8)).sum(0).softmax())
  assert len(shown.schedule.kernels) >= 3
  assert "ast = " in shown.graph
  assert f"{len(shown.schedule.kernels)} kernels" in repr(shown)
  assert shown._repr_html_().startswith("<iframe")
  assert ("it is an output" if RELEASE != "0.11.0" else "not known") in shown.why


def test_debug_of_nothing() -> None:
  from tinygrad import Tensor
  done = Tensor.empty(3, 3).contiguous().realize()
  with pytest.raises(tgc.TgcError, match="nothing to schedule"): _ = tgc.debug(done).schedule


def test_recording_restores_tinygrad() -> None:
  from tinygrad import Tensor
  from tinygrad.uop import ops
  before = [ops.graph_rewrite, ops.PatternMatcher.rewrite, Tensor.assign]
  with pytest.raises(ZeroDivisionError), tgc.record() as made:
    assert ops.graph_rewrite is not before[0]
    with pytest.raises(tgc.TgcError, match="recorded already"), tgc.record(): pass
    with pytest.raises(tgc.TgcError, match="not finished"): _ = made.kernels
    assert "not finished" in repr(made)
    raise ZeroDivisionError
  assert [ops.graph_rewrite, ops.PatternMatcher.rewrite, Tensor.assign] == before
  assert made.kernels == []
  with pytest.raises(tgc.TgcError, match="empty"): tgc.run(made.path) if made.path.exists() else recording.input_of(made)


def test_recording_twice_finds_the_kernel_again() -> None:
  from tinygrad import Tensor
  sizes = []
  for _ in range(2):
    with tgc.record() as made: (Tensor.empty(6, 6) + 1).realize()
    sizes.append(len(made.kernels))
  assert sizes[0] == sizes[1] > 0


def test_inputs_are_saved(tmp_path: pathlib.Path) -> None:
  from tinygrad import Tensor
  with tgc.record(tmp_path / "run.jsonl.gz", inputs=True) as made: (Tensor([1.0, 2.0, 3.0]).realize() * 2).realize()
  assert list((tmp_path / "run.inputs").glob("*.in.npz"))
  assert made.kernels


def test_same_id_twice(tmp_path: pathlib.Path, recording: tgc.Recording) -> None:
  file, lines = tmp_path / "twice.jsonl", recording.lines["kernel"]
  file.write_text("".join([lines[0], lines[1], lines[1]]))
  loaded = tgc.load(file)
  assert loaded.all_kernels[1].path.endswith("~2")
  assert tgc.run(loaded.all_kernels[1]).passed


def test_load_of_a_schedule_file(recording: tgc.Recording, tmp_path: pathlib.Path) -> None:
  recording.save(tmp_path / "run.jsonl")
  loaded = tgc.load(tmp_path / "run.tensor.jsonl")
  assert loaded.kernels == []
  assert [s.id for s in loaded.schedules] == [s.id for s in recording.schedules]
  assert "kernels" in str(loaded.schedules[0])


def test_errors(tmp_path: pathlib.Path) -> None:
  with pytest.raises(tgc.TgcError, match="there is no file"): tgc.load(tmp_path / "none.jsonl")
  (tmp_path / "text.jsonl").write_text("no recording\n")
  with pytest.raises(tgc.TgcError, match="no recording of tgc.export"): tgc.load(tmp_path / "text.jsonl")
  with pytest.raises(tgc.TgcError) as e: tgc.run(tmp_path / "none.uop")
  assert e.value.exit_code == 2
  assert "cannot open" in e.value.diagnostics[0]
  assert e.value.command[1] == "run"
  with pytest.raises(tgc.TgcError, match="no option"): tgc.bisect(tmp_path / "text.jsonl", no_such_option=True)


def test_diagnostics() -> None:
  text = "noise\ntgc: a.uop:1: bad\n  ^\ntgc: note: wrote x\n\ntgc: second"
  assert process.diagnostics_of(text) == ["noise", "a.uop:1: bad\n  ^", "second"]


def test_no_binary(monkeypatch: pytest.MonkeyPatch) -> None:
  monkeypatch.delenv("TGC", raising=False)
  monkeypatch.setattr(process, "PACKAGE", pathlib.Path("/no/such/place/of/tgc"))
  monkeypatch.setattr("tgc.process.sysconfig.get_path", lambda _: "/none")
  monkeypatch.setenv("PATH", "/none")
  with pytest.raises(tgc.TgcError, match="is not installed"): process.binary()
  for named in ("/no/such/tgc", "/", __file__):  # the last one is not executable
    monkeypatch.setenv("TGC", named)
    with pytest.raises(tgc.TgcError, match=f"TGC names '{named}', which is not an executable file"): process.binary()


def test_progress_with_and_without_tqdm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
  assert list(process.progress(["a", "b"], 2, "label")) == ["a", "b"]
  assert "label" in capsys.readouterr().err
  monkeypatch.setitem(sys.modules, "tqdm.auto", None)
  assert list(process.progress(["a", "b"], 2, "label")) == ["a", "b"]
  assert not capsys.readouterr().err


def test_options() -> None:
  assert command_line_options({"atol": 0.1, "each_stage": True, "seed": None, "race": False}) == ["--atol=0.1", "--each-stage"]
  assert command_line_options({"set": ["A=1", "B=2"], "try_": True}) == ["--set=A=1", "--set=B=2", "--try"]
