"""Tests of the exporter, with the installed release of tinygrad."""
from __future__ import annotations

import gzip
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import tgc
import tinygrad
from conftest import RELEASE, ROOT, SHORT, Export
from tgc.export import golden, graph_text, hooks, versions
from tgc.export.processes import program_name
from tgc.export.start import tgc_export
from tgc.process import binary

NATIVE = RELEASE == "0.12.0"
since_0_12 = pytest.mark.skipif(RELEASE.startswith("0.11"), reason="needs tinygrad 0.12 or later")


def test_program(export: Export, tmp_path: pathlib.Path) -> None:
  said = export("-o", "run.jsonl.gz", "--walk", "--letters", "--rewrites", "--save-inputs", "--", "prog.py", fresh=True).stderr
  assert "run.jsonl.gz" in said
  made = tgc.load(tmp_path / "run.jsonl.gz")
  assert len(made.kernels) >= 4
  assert made.kernels[0].id.startswith("prog.")
  assert any("prog.py:" in k.made_for for k in made.kernels)
  assert any(k.rewrites for k in made.kernels)
  stages = [s for k in made.kernels for s in k.facts["stages"]]
  assert any(s.get("letters") for s in stages) or RELEASE.startswith("0.11")  # 0.11 has no pyrender
  assert all(s["seconds"] >= 0 for s in stages)
  assert any(attempts >= matches > 0 for k in made.kernels for matches, attempts, *_ in k.facts["rules"].values())
  jit = [json.loads(line) for line in golden.golden_lines(tmp_path / "run.jit.jsonl.gz")][1:]
  phases = [e["phase"] for e in jit if e["event"] == "call"]
  assert phases[:3] == ["warmup", "capture", "replay"]
  if not RELEASE.startswith("0.11"): assert list((tmp_path / "run.inputs").iterdir())


NANS = """from tinygrad import Tensor, TinyJit
@TinyJit
def step(x, scale): return ((x * scale).log() * x).sum().realize()
for i in range(4):
  x, scale = Tensor([1., 2, 0, 4]).contiguous().realize(), Tensor([2. if i < 3 else 0.5]).contiguous().realize()
  step(x if i == 3 else (x + 1).contiguous().realize(), scale)
"""


@since_0_12
def test_watch_nan(export: Export, tmp_path: pathlib.Path) -> None:
  (tmp_path / "nans.py").write_text(NANS)
  said = export("-o", "run.jsonl.gz", "--watch-nan", "--", "nans.py", fresh=True).stderr
  assert "makes a NaN of numbers" in said
  found = json.loads((tmp_path / "run.nan.json").read_text())["found"]
  assert found["jit"] == {"function": "step", "call": 4}
  done = subprocess.run([binary(), "run", "run.jsonl.gz", "--nan"], cwd=tmp_path, capture_output=True, text=True, check=False)
  assert done.returncode == 1, done.stderr
  assert "log2(0) = -inf, where 0 = 0*0.5\n    log at nans.py:3\n" in done.stdout
  assert "call 4 of TinyJit step" in done.stdout
  # a NaN that the program masks is not reported, and an earlier report is removed
  (tmp_path / "nans.py").write_text("from tinygrad import Tensor\nx = Tensor([-1., 4]).realize()\n(x > 0).where(x.sqrt(), 0).realize()\n")
  assert "none made a NaN of numbers" in export("-o", "run.jsonl.gz", "--watch-nan", "--", "nans.py", fresh=True).stderr
  assert not (tmp_path / "run.nan.json").exists()


LINES = """from tinygrad import Tensor, TinyJit
w, v = Tensor([[1., 2], [3, 4]], requires_grad=True).realize(), Tensor([[5., 6], [7, 8]]).realize()
def step(x):
  h = x.matmul(w)
  h = h.relu()
  out = h.matmul(v)
  loss = (out.sin() * v).contiguous().sum()
  loss.backward()
  w.assign(w - w.grad * 0.1)
  return loss.realize(), w.realize()
step = TinyJit(step) if JIT else step
for i in range(3): step(Tensor([[1., 2], [3, i]]).contiguous().realize())
"""


@since_0_12
@pytest.mark.parametrize(("walk", "jit"), [([], False), (["--walk"], True)])
def test_lines(export: Export, tmp_path: pathlib.Path, walk: list[str], jit: bool) -> None:
  """Each kernel names the Tensor methods and lines that made its nodes, and no others."""
  program = LINES.replace("JIT else", f"{jit} else")
  if not hasattr(tinygrad.Tensor([1.0]), "requires_grad"): program = program.replace(", requires_grad=True", "")
  (tmp_path / "lines.py").write_text(program)
  export("-o", "run.jsonl", *walk, "--", "lines.py")
  records = [json.loads(line) for line in golden.golden_lines(tmp_path / "run.jsonl")][1:]
  made_for = [{(m["name"] + (" bw" if m.get("backward") else ""), int(m["caller"].split(":")[1])) for m in r.get("metadata", ())} for r in records]
  named = set().union(*made_for)
  assert {("matmul", 4), ("relu", 5), ("matmul", 6), ("sin", 7), ("sum", 7), ("sin bw", 7), ("matmul bw", 4), ("__sub__", 9)} <= named
  assert [names for names in made_for if ("sum", 7) in names and ("matmul", 4) in names] == []  # contiguous() is between them
  for r in records:
    if not r["ast"].startswith("{"): continue
    ops = [n["op"] for n in json.loads(r["ast"])["nodes"]]
    assert {ops[n] for m in r.get("metadata", ()) if m["name"] == "sin" and not m.get("backward") for n in m["nodes"]} <= {"SIN"}


BINDS = """from tinygrad import Tensor, TinyJit, Variable
from tinygrad.helpers import Context
x = Tensor([1., 2, 3, 4, 5, 6, 7, 8]).realize()
@TinyJit
def total(x, n): return (x[:n] * 2).sum().realize()
for n in (2, 3, 4): print(total(x, Variable("n", 1, 8).bind(n)).item())
with Context(NOOPT=1): print((x * 3).max().item())
print((x * 3).max().item())
"""


@since_0_12
@pytest.mark.parametrize("walk", [["--walk"], []] if NATIVE else [[]])  # other releases always record nodes
def test_ids_and_variables(export: Export, tmp_path: pathlib.Path, walk: list[str]) -> None:
  (tmp_path / "binds.py").write_text(BINDS)
  export("-o", "run.jsonl", "--save-inputs", *walk, "--", "binds.py")
  def records(name: str) -> list[dict[str, Any]]: return [json.loads(line) for line in golden.golden_lines(tmp_path / name)][1:]
  kernels, schedules = records("run.jsonl"), records("run.tensor.jsonl")
  ids = [r["id"] for r in (*kernels, *schedules)]
  assert len(ids) == len(set(ids)), ids  # also if one kernel is compiled with two settings
  assert {k["id"] for s in schedules for k in s.get("kernels", []) if "id" in k} <= {r["id"] for r in kernels}
  bound = [r for r in kernels if r.get("var_vals")]
  assert [r["var_vals"] for r in bound] == [{"n": 2}]
  assert any(s.get("var_vals") == {"n": 2} and s["kernels"] and s["kernels"][0]["id"] == bound[0]["id"] for s in schedules)
  if walk or not NATIVE:
    calls = [r for r in records("run.jit.jsonl") if r["event"] == "call"]
    assert [c["var_vals"] for c in calls] == [{"n": 2}, {"n": 3}, {"n": 4}]


@since_0_12
def test_refused_compilation(export: Export, tmp_path: pathlib.Path) -> None:
  (tmp_path / "raises.py").write_text("""from tinygrad import Tensor, codegen
import tinygrad.engine.realize
def refuse(*args, **kwargs): raise RuntimeError("no such thing")
codegen.apply_opts = refuse
x = Tensor([1., 2, 3, 4]).realize()
try: (x * 3).sum().item()
except RuntimeError: pass
""")
  export("-o", "run.jsonl", "--", "raises.py")
  refused = [r for r in map(json.loads, golden.golden_lines(tmp_path / "run.jsonl")) if "error" in r]
  assert refused and "no such thing" in refused[0]["error"] and refused[0]["error_stage"], refused


def test_text_recording_is_replayed(export: Export, tmp_path: pathlib.Path) -> None:
  export("-o", "run.jsonl", "--save-inputs", "--", "short.py")
  made = tgc.load(tmp_path / "run.jsonl")
  assert made.kernels[0].ast.count("\n") > 2
  if not NATIVE: return
  found = tgc.check(tmp_path / "run.jsonl")
  assert found.records == found.identical == len(made.all_kernels)
  with pytest.raises(tgc.TgcError, match="without nodes"): _ = made.kernels[0].stages["expander"].nodes


@pytest.mark.parametrize("command", [["-c", SHORT], ["-"], ["-m", "short"]])
def test_ways_to_run(export: Export, tmp_path: pathlib.Path, command: list[str]) -> None:
  export("-o", "run.jsonl", "--", *command, text=SHORT, fresh=True)
  ids = {k.id.partition(".")[0] for k in tgc.load(tmp_path / "run.jsonl").kernels}
  assert ids == {{"-c": "code", "-": "stdin", "-m": "short"}[command[0]]}


def test_child_processes(export: Export, tmp_path: pathlib.Path) -> None:
  (tmp_path / "parent.py").write_text("import subprocess, sys, os\n"
    "from tinygrad import Tensor\nTensor.empty(3, 5).sum(0).realize()\n"
    "subprocess.run([sys.executable, 'short.py'], check=True)\n"
    "if os.fork() == 0:\n  Tensor.empty(3, 9).sum(1).realize()\n  os._exit(0)\nos.wait()\n")
  export("-o", "run.jsonl.gz", "--", "parent.py", fresh=True)
  ids = {k.id for k in tgc.load(tmp_path / "run.jsonl.gz").kernels}
  assert any(i.startswith("parent.p1.") for i in ids)
  assert any(i.startswith("parent.p2.") for i in ids)
  assert "parent.0" in ids or "parent.4" in ids or any(i.count(".") == 1 for i in ids)


@since_0_12
def test_targets_and_replay(export: Export, tmp_path: pathlib.Path) -> None:
  export("-o", "run.jsonl", "--targets=CPU:CLANG,CUDA:CUDA:sm_80", "--", "prog.py")
  kernels = tgc.load(tmp_path / "run.jsonl").kernels
  assert {k.target for k in kernels} >= {"CPU:CLANG", "CUDA:CUDA:sm_80"}
  assert any("__global__" in (k.source or "") for k in kernels)
  export("-o", "again.jsonl", "--replay", "run.jsonl")
  found = tgc.diff(tmp_path / "run.jsonl", tmp_path / "again.jsonl")
  assert found.kernels["only_b"] == 0  # kernels of the runtime are not replayed
  # 0.13 numbers kernels of the same shape in the order of compilation
  assert RELEASE == "0.13.0" or found.kernels["same"] == len(kernels)
  export("-o", "tensors.jsonl", "--replay", "run.tensor.jsonl")
  assert tgc.load(tmp_path / "tensors.tensor.jsonl").schedules


def test_targets_without_their_libraries() -> None:
  # a module that is None cannot be imported
  program = ("import sys\nfrom tgc.export import records\n"
             "sys.modules.update(dict.fromkeys(records.COMPILERS))\n"
             "for target in 'CPU:CLANG CPU:LLVM CUDA:CUDA:sm_80 CUDA:PTX:sm_80 AMD:LLVM:gfx1100 METAL CL'.split(): "
             "print(type(records.make_renderer(target)).__name__)")
  done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "DEV": "PYTHON"}, check=False, text=True,
                        capture_output=True)
  assert len(done.stdout.split()) == 7, done.stderr


@since_0_12
def test_viz_trace(export: Export, tmp_path: pathlib.Path) -> None:
  env = {"TRACK_MATCH_STATS": "2", "VIZ": "0", "PRINT_MATCH_STATS": "0", "TMPDIR": str(tmp_path), "PARALLEL": "0"}
  subprocess.run([sys.executable, "short.py"], cwd=tmp_path, env={**os.environ, **env}, check=True, capture_output=True)
  trace = next(tmp_path.glob("rewrites.pkl*"))
  export("-o", "viz.jsonl", "--viz", trace.name)
  made = tgc.load(tmp_path / "viz.jsonl")
  assert made.kernels
  assert made.kernels[-1].rewrites
  (tmp_path / "bad.pkl").write_bytes(b"no pickle")
  assert "not a VIZ trace" in export("-o", "viz.jsonl", "--viz", "bad.pkl", code=2).stderr


@since_0_12
def test_answers(export: Export, tmp_path: pathlib.Path, recording: tgc.Recording) -> None:
  kernel = recording.kernels[0]
  graph, schedule = (json.loads(r.facts["ast"]) for r in (kernel, recording.schedules[0]))
  head = {"id": "q", "target": "CPU:CLANG", "settings": {}, "graph": graph}
  questions: list[object] = [
    {"about": True}, {**head, "live": True}, {**head, "live": True, "rewrites": True},
    {**head, "live": True, "leave_out": {"place": kernel.rewrites[0].rule, "n": 1}},
    {**head, "live": True, "level": "tensor", "graph": schedule, "target": ""},
    {**head, "stage": "expander"}, {**head, "stage": "source"}, {**head, "after": []}, {**head, "live": True, "target": "NONE"}]
  said = export("--answer", text="".join(json.dumps(q) + "\n" for q in questions)).stdout
  answers = [json.loads(line) for line in said.splitlines()]
  assert len(answers) == len(questions)
  assert RELEASE in answers[0]["producer"]
  assert answers[1]["record"]["source"]
  assert answers[2]["record"]["rewrites"]["list"]
  assert answers[3]["record"]["id"] == "q"
  assert answers[4]["record"]["stages"]
  assert "error" in answers[-1]


def test_tgc_export_in_a_program(tmp_path: pathlib.Path, export: Export) -> None:
  (tmp_path / "own.py").write_text("from tinygrad import Tensor\nfrom tgc.export import tgc_export\n"
                                   "tgc_export(Tensor.empty(4, 4).sum(0) + 1, path='own.jsonl')\n")
  if RELEASE.startswith("0.11"): return
  subprocess.run([sys.executable, "own.py"], cwd=tmp_path, check=True, env={**os.environ, "PYTHONPATH": ":".join(sys.path)})
  assert tgc.load(tmp_path / "own.jsonl").kernels
  with pytest.raises(ValueError, match="needs a file"): tgc_export()


def test_error_in_the_program(export: Export, tmp_path: pathlib.Path) -> None:
  (tmp_path / "fails.py").write_text(SHORT + "raise SystemExit(3)\n")
  export("-o", "run.jsonl", "fails.py", code=3)  # without --
  assert tgc.load(tmp_path / "run.jsonl").kernels
  (tmp_path / "empty.py").write_text("pass\n")
  assert "nothing was compiled" in export("-o", "run.jsonl", "--", "empty.py", code=2).stderr


@pytest.mark.parametrize(("words", "message"), [
  (["--", "prog.py"], "required: -o/--output"), (["-o", "x.jsonl"], "give a program after --"), (["-o", "x", "--", "-m"], "-m needs a module"),
  (["-o", ".", "--", "prog.py"], "is a folder"), (["-o", "no/x.jsonl", "--", "prog.py"], "there is no folder"),
  (["-o", "x.jsonl", "--", "none.py"], "there is no program 'none.py'"), (["-o", "x.jsonl", "--replay", "prog.py"], "not a golden file")])
def test_usage_errors(export: Export, words: list[str], message: str) -> None:
  if "--replay" in words and RELEASE.startswith("0.11"): return
  assert message in export(*words, code=2).stderr


def test_values_of_options_are_no_programs(export: Export, tmp_path: pathlib.Path) -> None:
  if RELEASE.startswith("0.11"): return
  export("--rules", "-o", "rules.jsonl", "--only", "no/such_file.py")
  assert (tmp_path / "rules.jsonl").is_file()


def test_jit_lint(export: Export, tmp_path: pathlib.Path) -> None:
  (tmp_path / "frozen.py").write_text("""
from tinygrad import Tensor, TinyJit
scale = 3.0
@TinyJit
def step(x): return (x * scale).realize()
for i in range(4):
  scale = i + 4.0
  step(Tensor.full((4,), 2.0).contiguous().realize())
""")
  export("-o", "run.jsonl", "--walk", "--", "frozen.py")
  found = tgc.lint(tgc.load(tmp_path / "run.jsonl"))
  assert any("scale" in json.dumps(f.facts) for f in found)
  assert any("frozen.py" in str(f) for f in found)


@pytest.mark.skipif(RELEASE < "0.13", reason="needs tinygrad 0.13 or later, which captures lists of calls")
def test_calls_of_a_jit(export: Export, tmp_path: pathlib.Path) -> None:
  """The captured calls are a record, and so is a replay whose argument is a buffer that they store to."""
  (tmp_path / "calls.py").write_text("""
from tinygrad import Tensor, TinyJit
@TinyJit
def step(x, y):
  u = (x + 1).contiguous().realize()
  return (x.flip(0) * y + u).contiguous().realize(), u
x, y = (Tensor.full((4,), i).contiguous().realize() for i in (1., 2.))
for i in range(5): o, x = step(x, y)
""")
  export("-o", "run.jsonl", "--", "calls.py")
  records = [json.loads(line) for line in golden.golden_lines(tmp_path / "run.tensor.jsonl")][1:]
  plans = {r["id"]: [s["name"] for s in r["stages"]] for r in records if ".plan" in r["id"]}
  assert plans == {"calls.plan0": ["captured calls", "inputs of the jit", "memory plan", "calls to replay"], "calls.plan0.call1": ["replay"]}


@pytest.mark.skipif(RELEASE < "0.13", reason="needs tinygrad 0.13 or later")
def test_late_read(export: Export, tmp_path: pathlib.Path) -> None:
  """A record marks a value that reads what an assignment stores, although its line is before the assignment."""
  parts = []
  for before in (True, False):
    total = "c = b.sum().reshape(1).contiguous()"
    parts.append(f"""
from tinygrad import Tensor
a = Tensor([float(i) for i in range(8)]).realize()
b = a[0:4].contiguous().realize()
{total if before else ""}
a[0:4].assign(b * 2)
{"" if before else total}
Tensor.realize(a, c)
""")
  (tmp_path / "late.py").write_text("".join(parts))
  export("-o", "run.jsonl", "--", "late.py")
  records = [json.loads(line) for line in golden.golden_lines(tmp_path / "run.tensor.jsonl")][1:]
  late = {m["caller"] for r in records for m in r.get("metadata", []) if m["name"] == "late read"}
  assert late == {"late.py:6::<module>"}


@pytest.mark.skipif(RELEASE < "0.13", reason="needs tinygrad 0.13 or later")
def test_lines_of_nodes(export: Export, tmp_path: pathlib.Path) -> None:
  (tmp_path / "lines.py").write_text("""
from tinygrad import Tensor
a = Tensor([1.0, 2.0, 3.0]).realize()
b = a.exp2()
c = b.sin().realize()
""")
  export("-o", "run.jsonl", "--", "lines.py")
  record = [json.loads(line) for line in golden.golden_lines(tmp_path / "run.tensor.jsonl")][-1]
  ops = [node["op"] for node in json.loads(record["ast"])["nodes"]]
  made = {m["caller"].split("::")[0]: [ops[i] for i in m["nodes"]] for m in record["made_by"]}
  assert "EXP2" in made["lines.py:4"] and "SIN" in made["lines.py:5"] and "EXP2" not in made["lines.py:5"]


def test_reasons_of_kernels_that_share_memory(export: Export, tmp_path: pathlib.Path) -> None:
  if RELEASE.startswith(("0.11", "0.12")): return  # tgc makes the schedules of 0.12 itself
  (tmp_path / "norm.py").write_text("""
from tinygrad import Tensor
x = Tensor.empty(8, 16).softmax()
y = x - x.mean(-1, keepdim=True)
(y / (y.var(-1, keepdim=True) + 1)).softmax().realize()
""")
  export("-o", "run.jsonl", "norm.py")
  records = [json.loads(line) for line in (tmp_path / "run.tensor.jsonl").read_text().splitlines()[1:]]
  kernels = [k for r in records for k in r.get("kernels", []) if "made_by" in k["stored"]]
  assert len(kernels) >= 4
  for k in kernels: assert k["stored"]["made_by"][0] in k["metadata"]


def test_hostile_graphs_run_no_code() -> None:
  for text in ("ast = __import__('os').system('true')", "ast = UOp.const(dtypes.int, 1).arg", "ast = 1", "import os", "ast = UOp(", "x" * 10):
    with pytest.raises(graph_text.GraphTextError): graph_text.read_graph(text)


@pytest.mark.skipif(not NATIVE, reason="reads texts of tinygrad 0.12.0")
def test_graphs_of_the_goldens_are_read() -> None:
  from tinygrad.uop.ops import pyrender
  lines = golden.golden_lines(ROOT / "testdata/golden/kernels.jsonl.gz")
  next(lines)
  for line, _ in zip(lines, range(5), strict=False):
    text = json.loads(line)["ast"]
    assert pyrender(graph_text.read_graph(text)) == text


def test_commit_of_a_checkout(tmp_path: pathlib.Path) -> None:
  assert versions.commit_of(tmp_path) is None
  git, commit = tmp_path / ".git", "a9069c177a9da9cca18593edf55acd2e6073cca6"
  git.mkdir()
  (git / "HEAD").write_text(commit + "\n")
  assert versions.commit_of(tmp_path) == commit
  (git / "HEAD").write_text("ref: refs/heads/main\n")
  assert versions.commit_of(tmp_path) is None
  (git / "packed-refs").write_text(f"# pack-refs\n{commit} refs/heads/main\n")
  assert versions.commit_of(tmp_path) == commit
  (git / "refs/heads").mkdir(parents=True)
  (git / "refs/heads/main").write_text("b" * 40 + "\n")
  assert versions.commit_of(tmp_path) == "b" * 40
  worktree = tmp_path / "worktree"
  worktree.mkdir()
  (worktree / ".git").write_text(f"gitdir: {git}\n")
  assert versions.commit_of(worktree) == "b" * 40


def test_versions() -> None:
  ops = ["SINK"]
  assert versions.checkout_version("9.9.9", ops) == "9.9.9"
  assert versions.checkout_version("0.13.0", ops) == "0.14.0.dev"
  assert versions.checkout_version("0.13.0", [*ops, "DEFINE_REG"]) == "0.13.0.post"


def test_names() -> None:
  assert program_name(["-m", "pytest", "-q", "test/test_ops.py::T"]) == "test_ops"
  assert program_name(["-m", "pytest", "-p", "no:cacheprovider", __file__ + "::T"]) == "test_export"
  assert program_name(["-m", "a.b.c"]) == "c"
  assert program_name(["x/prog.py", "1"]) == "prog"
  assert golden.tagged_path(pathlib.Path("a/out.jsonl.gz"), "tensor") == pathlib.Path("a/out.tensor.jsonl.gz")


def test_settings_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
  assert golden.settings_of({"settings": {"NOOPT": 1, "TC": 0}}, {"settings": {"TC": None}}) == {"NOOPT": "1"}
  with pytest.raises(SystemExit): golden.checked_settings({"CC": "touch x"})
  assert "may not set" in capsys.readouterr().err


def test_atomic_file(tmp_path: pathlib.Path) -> None:
  path = tmp_path / "out"
  path.write_bytes(b"old")
  path.chmod(0o640)
  with pytest.raises(RuntimeError), golden.atomic_file(path) as file:
    file.write(b"half")
    raise RuntimeError
  assert path.read_bytes() == b"old"
  with golden.atomic_file(path) as file: file.write(b"new")
  assert path.read_bytes() == b"new"
  assert path.stat().st_mode & 0o777 == 0o640
  assert sorted(p.name for p in tmp_path.iterdir()) == ["out"]


def test_cut_off_file(tmp_path: pathlib.Path) -> None:
  writer = golden.GoldenWriter(tmp_path / "run.jsonl.gz")
  for i in range(3): writer.write("kernel", {}, {"id": f"k.{i}"})
  writer.close()
  data = (tmp_path / "run.jsonl.gz").read_bytes()
  (tmp_path / "cut.jsonl.gz").write_bytes(data[:-30])
  assert len(list(golden.golden_lines(tmp_path / "cut.jsonl.gz"))) == 3  # the header and two records


def test_line_without_end(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
  monkeypatch.setattr(golden, "LONGEST_LINE", 1 << 10)
  path = tmp_path / "bomb.jsonl.gz"
  for size in ((1 << 10) + 1, 1 << 20):
    path.write_bytes(gzip.compress(b"{}\n" + b" " * size))
    with pytest.raises(ValueError, match="a line of more than"): list(golden.golden_lines(path))
  path.write_bytes(gzip.compress(b"{}\n" + b"1" * 1000 + b"\n"))
  assert len(list(golden.golden_lines(path))) == 2
  path.write_bytes(gzip.compress(b" " * (1 << 20)))
  with pytest.raises(tgc.TgcError): tgc.load(path)


def test_replacements_are_undone() -> None:
  class Owner: own = 1
  class Derived(Owner): pass
  hooks.set_attribute(Owner, "own", 2)
  hooks.set_attribute(Derived, "own", 3)
  assert (Owner.own, Derived.own) == (2, 3)
  hooks.restore_all()
  assert (Owner.own, Derived.own) == (1, 1)
  assert "own" not in vars(Derived)
  with hooks.replaced_attribute(Owner, "own", 9): assert Owner.own == 9
  assert Owner.own == 1


def test_call_on_import(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
  (tmp_path / "module_of_test.py").write_text("value = 1\n")
  monkeypatch.syspath_prepend(tmp_path)
  seen: list[int] = []
  hooks.call_on_import("module_of_test", lambda m: seen.append(m.value))
  assert seen == []
  import module_of_test  # type: ignore[import-not-found]
  assert seen == [1]
  hooks.call_on_import("module_of_test", lambda m: seen.append(m.value + 1))
  assert seen == [1, 2]
  assert module_of_test
  (tmp_path / "other_of_test.py").write_text("")
  import other_of_test  # type: ignore[import-not-found]
  assert other_of_test
  assert seen == [1, 2]
  hooks.restore_all()
