#!/usr/bin/env python3
"""Compares tinygrad's PatternMatchers with tgc's rule sets: numbers of rules, source lines, and hits in a kernel.

  rule_table.py counts [--tgc build/release/bin/tgc]      prints testdata/rule_counts.md: number of rules of each set
  rule_table.py sources [--tgc ...]                       prints lib/compilation/rule_sources.def: the line of each rule in tinygrad
  rule_table.py hits FILE#ID [--target T] [--tgc ...]     prints the hits of each rule in tinygrad and in tgc for one kernel
  rule_table.py hits FILE --every N                       sums up the hits for every N-th record of a golden file

Needs an importable tinygrad 0.12.0. Exits 1 as follows. `counts`: the sizes of a set or stage differ, and no reason is
listed here. `sources`: the line of a rule in tinygrad is not found. `hits`: fewer than 95 % of the rules that were hit
in tinygrad or tgc have the same number of hits in both.
"""
import os, sys
if len(sys.argv) > 1 and sys.argv[1] == "hits": os.environ["TRACK_MATCH_STATS"] = "1"
os.environ["PRINT_MATCH_STATS"] = ""  # tinygrad takes "0" as true for this variable
os.environ["SPEC"] = "0"  # verification would add matches
os.environ.setdefault("CPU_COUNT", "4")
import argparse, collections, importlib, json, pathlib, subprocess, tempfile, textwrap
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from tgc.export.golden import apply_settings, golden_lines
from tgc.export.graph_text import read_graph
from tgc.export.hooks import replaced_attribute
from tgc.export.records import make_renderer

TARGETS = ["CPU:CLANG", "CPU:LLVM", "CL:CL", "CL:INTEL", "METAL:METAL", "CUDA:CUDA:sm_80", "CUDA:PTX:sm_80", "AMD:HIP:gfx1100", "AMD:LLVM:gfx1100",
           "AMD:LLVM:gfx942", "WEBGPU:WGSL"]

# tinygrad's sets without a rule set in tgc, and why.
WHY_NO_SET = {
  "base_rewrite": "prints: renderers/ has a function per op", "string_rewrite": "prints: renderers/ has a function per op",
  "def_rewrite": "the NIR renderer, which tgc does not have", 
  "dsp_pm": "the DSP renderer, which tgc does not have", "dsp_pm_late": "the DSP renderer, which tgc does not have",
  "dsp_string": "the DSP renderer, which tgc does not have", 
  "pm_pyrender": "prints: lib/text/pyrender.cpp", "pm_pyrender_extra": "prints: lib/text/pyrender.cpp", "renderer": "prints: lib/uop/render.cpp",
  "renderer_infer": "evaluates expressions: lib/uop/render.cpp, exec_alu.cpp", "pm_proc": "compiles patterns: lib/rewrite/matcher.cpp",
  "pm_renderer": "compiles patterns: lib/rewrite/matcher.cpp", "pm_gradient": "differentiation, before the compiler",
  "si_lowerer": "makes runners: lib/runtime", "pm_post_sched_cache": "puts recorded names back: passes/tensor/sched_cache.cpp substitutes them",
  "pm_linearize_cleanups": "rewrites a list, not a graph: passes/kernel/linearizer.cpp", "pm_to_program": "the order of compiling: passes/program.cpp",
  "pm_unbind": "takes values off variables: passes/tensor/schedule.cpp", "pm_gate_substitute": "with _substitute one set of passes/tensor/remove_bufferize.cpp",
  "remove_tags": "a set of the optimizer's own: passes/kernel/optimizer/scheduler_opts.cpp", "z3_renderer": "bounds to Z3 terms: lib/run/bounds_proof.cpp",
  "extra_pm": "a part of the C renderers' sets", "pm_manual_bf16_cast": "a part of the renderers' sets", "ptx_matcher": "PTXRenderer.extra_matcher",
  "wgsl_matcher": "WGSLRenderer.extra_matcher",
}
# Sets whose numbers of rules differ, and why.
WHY_OTHER_COUNT = {}


def tinygrad_modules():
  import tinygrad
  root = pathlib.Path(tinygrad.__file__).parent
  for path in sorted(root.rglob("*.py")):
    parts = [p for p in path.relative_to(root).with_suffix("").parts if p != "__init__"]
    if {"autogen", "viz", "nn", "apps", "runtime"} & set(parts) or "__main__" in parts: continue
    try: yield importlib.import_module(".".join(["tinygrad", *parts]))
    except Exception: continue  # needs a library that is not installed


def named_matchers():
  """Returns {name: PatternMatcher} of modules, classes and renderers, each matcher under its first name."""
  from tinygrad.uop.ops import PatternMatcher
  found, seen = {}, set()
  def add(name, value):
    if not isinstance(value, PatternMatcher) or id(value) in seen or not value.patterns: return
    seen.add(id(value))
    found[name] = value
  for module in sorted(tinygrad_modules(), key=lambda m: m.__name__):
    for name, value in vars(module).items(): add(name if name not in found else f"{name} ({module.__name__})", value)
    for cls in [c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__]:
      for name, value in vars(cls).items():
        if name != "extra_matcher": add(f"{cls.__name__}.{name}", value)
  for target in TARGETS:
    renderer = make_renderer(target)
    name = type(renderer).__name__ + ("(gfx942)" if target.endswith("gfx942") else "")
    found[name + ".extra_matcher"] = renderer.extra_matcher or PatternMatcher([])
  return found


class StageRules:
  """The PatternMatcher of each stage that `full_rewrite_to_sink` runs."""
  def __init__(self): self.by_stage = {}
  def compile(self, ast, renderer):
    import tinygrad.codegen as codegen
    from tinygrad.codegen.opt.postrange import Scheduler
    from tinygrad.helpers import Context
    from tinygrad.uop.ops import KernelInfo
    rewrite = codegen.graph_rewrite
    def watched(sink, pm, **kwargs):
      self.by_stage[kwargs["name"]] = pm
      return rewrite(sink, pm, **kwargs)
    Scheduler.kernel_cnt.clear()
    with replaced_attribute(codegen, "graph_rewrite", watched), Context(DEBUG=0, BEAM=0):
      full = codegen.full_rewrite_to_sink(ast if ast.arg is not None else ast.replace(arg=KernelInfo()), renderer, optimize=ast.tag is None)
      return codegen.linearize(full)


SMALL = """c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0)
c2 = UOp.range(4, 0, AxisType.LOOP)
c3 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 1)
ast = c0.index(c2, ptr=True).store(c3.index(c2)).end(c2).sink()"""


def tgc_json(tgc, *args): return json.loads(subprocess.run([tgc, *args, "--json"], check=True, capture_output=True, text=True).stdout)


def counts(tgc):
  ours = tgc_json(tgc, "patterns")
  sets = {s["name"]: s["rules"] for s in ours["sets"]}
  bad = 0
  print("# Rules of each PatternMatcher, in tinygrad 0.12.0 and in tgc\n")
  print("Made by `scripts/tools/rule_table.py counts`; the tests compare tgc's column with `tgc patterns --json`.\n")
  print("## Matchers by name\n\n| matcher | tinygrad | tgc | why it differs |\n|---|---|---|---|")
  theirs = named_matchers()
  for name, pm in theirs.items():
    n, m = len(pm.patterns), sets.pop(name, None)
    why = "" if m == n else (WHY_NO_SET if m is None else WHY_OTHER_COUNT).get(name if m is not None else name.split(" ")[0].split(".")[-1])
    if why is None: why, bad = "**unknown**", bad + 1
    print(f"| {name} | {n} | {'-' if m is None else m} | {why} |")
  for name, m in sets.items():
    print(f"| {name} | - | {m} | made where it is used there: `{MADE_THERE[name]}` |" if name in MADE_THERE else f"| {name} | - | {m} | **unknown** |")
    bad += name not in MADE_THERE
  print("\n## Kernel stages by target\n\nThe whole matcher that each stage applies, with every rule it is put together from.\n")
  print("| stage | target | tinygrad | tgc | why it differs |\n|---|---|---|---|---|")
  mine = {(s["name"], s["target"]): s["rules"] for s in ours["stages"]}
  for target in TARGETS:
    stages = StageRules()
    stages.compile(read_graph(SMALL), make_renderer(target))
    for name, pm in stages.by_stage.items():
      n, m = len(pm.patterns), mine.get((name, target))
      if (name, m) == ("add gpudims", None): m = 0
      why = "" if n == m else STAGE_WHY.get(name)
      if why is None: why, bad = "**unknown**", bad + 1
      print(f"| {name} | {target} | {n} | {'-' if m is None else m} | {why} |")
  return 1 if bad else 0

MADE_THERE = {
  "pm_create_image_buffers": "codegen/opt/postrange.py, in a function", "pm_remove_unfoldable_image_stores": "codegen/opt/postrange.py, in a function",
}
STAGE_WHY = {}


# Lines of rules that tinygrad defines inside a function or under another name.
KNOWN_LINES = {
  ("pm_create_image_buffers", "make-image"): ("codegen/opt/postrange.py", 362),
  ("pm_remove_unfoldable_image_stores", "undo-image-store"): ("codegen/opt/postrange.py", 370),
  ("swap remove tags", "remove-tag"): ("codegen/opt/postrange.py", 14),
  ("mark_movements", "mark-movement"): ("schedule/indexing.py", 103),
  ("pm_gate_substitute", "gate-substitute"): ("schedule/rangeify.py", 153),
}


def rules_of_stage(tgc, stage, target):
  return [r for r in tgc_json(tgc, "patterns", "--stage", stage, "--target", target)["rules"] if "inside" not in r]


def find_rule_lines(tgc):
  """Returns {(set, rule): (file, line)}, by pairing rules of the same position in a set or a stage."""
  found = dict(KNOWN_LINES)
  def pair(patterns, rules):
    if len(patterns) != len(rules): return
    for (p, _), r in zip(patterns, rules):
      place = (p.location[0].split("/tinygrad/")[-1], p.location[1])
      if found.setdefault((r["set"], r["name"]), place) != place:
        sys.exit(f"rule_table: {r['name']} of {r['set']} has two source lines: {found[r['set'], r['name']]} and {place}")
  theirs = named_matchers()
  for s in tgc_json(tgc, "patterns")["sets"]:
    if s["name"] in theirs: pair(theirs[s["name"]].patterns, tgc_json(tgc, "patterns", "--in", s["name"])["rules"])
  for target in TARGETS + ["AMD:LLVM:gfx1201"]:
    stages = StageRules()
    stages.compile(read_graph(SMALL), make_renderer(target))
    for name, pm in stages.by_stage.items(): pair(pm.patterns, rules_of_stage(tgc, name, target))
  return found


def sources(tgc):
  found, missing, table = find_rule_lines(tgc), [], {}
  for r in tgc_json(tgc, "patterns")["rules"]:
    if (r["set"], r["name"]) not in found: missing.append(f"no place: {r['name']} of {r['set']}")
    else:
      file, line = found[r["set"], r["name"]]
      table.setdefault((r["set"], file), {})[r["name"]] = line
  print("// The source line of each rule in tinygrad 0.12.0: X(rule set, tinygrad's file, rules with their lines).")
  print("// Generated by `scripts/tools/rule_table.py sources`.")
  for (name, file), rules in table.items():
    words = textwrap.wrap(", ".join(f"{rule}:{line}" for rule, line in rules.items()), 108, break_on_hyphens=False)
    print(f'X("{name}", "{file}",')
    print("\n".join(f'  "{line}{" " if line is not words[-1] else ""}"' for line in words) + ")")
  for text in missing: print(text, file=sys.stderr)
  return 1 if missing else 0


def tinygrad_hits(record, target):
  """Returns {id of a pattern: hits}, {id: pattern}, {stage: PatternMatcher}."""
  from tinygrad.uop import ops
  renderer, ast, stages = make_renderer(target), read_graph(record["ast"]), StageRules()
  ops.match_stats.clear()
  stages.compile(ast, renderer)
  return {id(p): v[0] for p, v in ops.match_stats.items()}, {id(p): p for p in ops.match_stats}, stages.by_stage


def compare_hits(header, record, target, tgc, known, quiet):
  theirs, patterns, stages = tinygrad_hits(record, target)
  prints = lines_of_printing_rules()
  with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as alone:  # an id may have one record per target
    alone.write(json.dumps(header) + "\n" + json.dumps(record) + "\n")
    alone.flush()
    mine = collections.Counter()  # rules that a loop makes have the same line
    for r in tgc_json(tgc, "stats", alone.name, "--target", target)["rules"]: mine[r["file"], r["line"], r["name"]] += r["hits"]
  # Pairs tinygrad's patterns with rules by their position in the set, unless their numbers differ.
  def pair(pm, rules):
    if len(pm.patterns) != len(rules): return
    for (p, _), r in zip(pm.patterns, rules): known.setdefault(id(p), (r["file"], r["line"], r["name"]))
  if target not in known:
    known[target] = True
    for name, pm in named_matchers().items():
      if name in rule_set_names(tgc): pair(pm, tgc_json(tgc, "patterns", "--in", name)["rules"])
  for name, pm in stages.items():
    if (target, name) not in known:
      known[target, name] = pm
      pair(pm, rules_of_stage(tgc, name, target))
  hits, unknown = collections.Counter(), collections.Counter()
  for p, n in theirs.items():
    if p in known: hits[known[p]] += n
    elif n and "/uop/upat.py" not in patterns[p].location[0] and patterns[p].location not in prints:
      unknown[f"{patterns[p].location[0].split('/tinygrad/')[-1]}:{patterns[p].location[1]}"] += n
  rows = [(rule, hits[rule], mine[rule]) for rule in sorted(set(hits) | set(mine)) if hits[rule] or mine[rule]]
  if not quiet:
    print(f"{'tinygrad':>9} {'tgc':>9}  rule")
    for rule, a, b in rows: print(f"{a:9d} {b:9d}{'  ' if a == b else ' !'}{rule[2]}  {rule[0]}:{rule[1]}")
    for place, n in unknown.items(): print(f"{n:9d}         - {place}: no rule of tgc")
  return sum(a == b for _, a, b in rows), len(rows), rows, unknown


def lines_of_printing_rules():
  """Returns the lines of rules that print a graph; tgc prints without rules."""
  from tinygrad.uop import ops
  return {p.location for pm in (ops.renderer, ops.renderer_infer, ops.pm_pyrender) for p, _ in pm.patterns}


_sets = []
def rule_set_names(tgc):
  if not _sets: _sets.extend(s["name"] for s in tgc_json(tgc, "patterns")["sets"])
  return _sets


def hits(tgc, spec, target, every):
  path, _, wanted = spec.partition("#")
  same = total = records = 0
  known, off, nowhere = {}, collections.Counter(), collections.Counter()
  for number, record in enumerate(map(json.loads, golden_lines(path))):
    if number == 0:
      header = record
      apply_settings(record["settings"])
      continue
    if "error" in record or not (record["id"] == wanted if wanted else number % every == 0): continue
    a, b, rows, unknown = compare_hits(header, record, target or record["target"], tgc, known, quiet=not wanted)
    same, total, records = same + a, total + b, records + 1
    for rule, x, y in rows:
      if x != y: off[rule] += 1
    nowhere.update(unknown.keys())
    if wanted: break
  if not records: sys.exit(f"rule_table: there is no record '{wanted}'")
  if not wanted:
    for rule, n in off.most_common(): print(f"differs in {n:4d} records: {rule[2]}  {rule[0]}:{rule[1]}")
    for place, n in nowhere.most_common(): print(f"unknown in {n:4d} records: {place}")
  print(f"{records} records: {same} of {total} rules that hit have the same hits, {100 * same / max(total, 1):.1f} %")
  return 0 if same >= 0.95 * total else 1


if __name__ == "__main__":
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("what", choices=["counts", "sources", "hits"])
  parser.add_argument("record", nargs="?")
  parser.add_argument("--target")
  parser.add_argument("--every", type=int, default=50)
  parser.add_argument("--tgc", default=str(pathlib.Path(__file__).parent.parent.parent / "build/release/bin/tgc"))
  args = parser.parse_args()
  sys.setrecursionlimit(20000)
  if args.what == "counts": sys.exit(counts(args.tgc))
  if args.what == "sources": sys.exit(sources(args.tgc))
  if not args.record: parser.error("hits needs FILE#ID or FILE")
  sys.exit(hits(args.tgc, args.record, args.target, args.every))
