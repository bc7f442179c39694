"""Tests of the objects that tgc offers: recordings, kernels, stages, results, pages, errors."""
from __future__ import annotations

import json
import pathlib
import sys

import pytest
import tgc
from conftest import RELEASE
from tgc import process, recording
from tgc.reports import options_of


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
  assert kernel.program["function_name"] in kernel.source
  assert kernel.linear
  assert kernel.nodes > 10
  assert kernel.error is None
  assert "test_api" not in kernel.made_for  # a line of the program asked for it, here that of conftest.py
  assert "conftest.py" in kernel.made_for
  text = str(kernel)
  assert kernel.source in text
  assert "global_size" in text
  assert kernel.ast.splitlines()[-1].startswith("ast = ")


def test_stages_by_any_name(kernel: tgc.Kernel) -> None:
  stage = kernel.stages["expander"]
  assert stage is kernel.stages["EXPANDER"]
  assert stage is kernel.stages["expand"]  # an alias of `tgc stages`
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
  with pytest.raises(AttributeError): _ = result[0].no_such_fact
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
  assert found.verdict == "renderer"
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
  from conftest import ROOT
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
  assert 'src="http' not in page.html  # nothing is loaded from a network
  assert len(tgc.view(kernel, recording.kernels[1]).html) > 1000
  assert kernel._repr_html_().startswith("<iframe")


def test_debug() -> None:
  from tinygrad import Tensor
  shown = tgc.debug((Tensor.empty(8, 8) @ Tensor.empty(8, 8)).sum(0).softmax())
  assert len(shown.schedule.kernels) >= 3
  assert "ast = " in shown.graph
  assert f"{len(shown.schedule.kernels)} kernels" in repr(shown)
  assert shown._repr_html_().startswith("<iframe")
  assert ("stored since" if RELEASE == "0.12.0" else "reasons are not recorded") in shown.why


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


def test_progress_with_and_without_tqdm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
  assert list(process.progress(["a", "b"], 2, "label")) == ["a", "b"]
  assert "label" in capsys.readouterr().err
  monkeypatch.setitem(sys.modules, "tqdm.auto", None)
  assert list(process.progress(["a", "b"], 2, "label")) == ["a", "b"]
  assert not capsys.readouterr().err


def test_options() -> None:
  assert options_of({"atol": 0.1, "each_stage": True, "seed": None, "race": False}) == ["--atol=0.1", "--each-stage"]
