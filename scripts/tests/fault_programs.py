"""Small kernels that `recorded_faults --prove` compiles with faulty copies of tinygrad 0.14.0.

  fault_programs.py make FILE         makes the kernels with an unchanged tinygrad and saves their graphs, sources and
                                      values, and the lines of tinygrad that compile them
  fault_programs.py run FILE NAME...  compiles these kernels until four sources differ from the saved ones, and runs
                                      those for CPU and CL; prints a row for each of the four: how its values differ.
                                      Under tinygrad_export.py, this also records the kernels

Only the compilation of a kernel can be wrong: the graphs were saved before. Kernels run with small numbers and with any
numbers. Buffers are longer than the kernels say, so that stores beyond their ends show.
"""
import collections, contextlib, dataclasses, functools, json, math, os, pickle, sys

CPU, CL, CUDA, HIP, METAL = "CPU", "CL", "CUDA:CUDA:sm_80", "AMD:HIP:gfx1100", "METAL:METAL"


def kernels_of(tensor):
  from tinygrad import dtypes
  from tinygrad.uop.ops import Ops
  if tensor.dtype in dtypes.weaks: tensor = tensor.cast(dtypes.int)
  return [c.src[0] for c in tensor.schedule_linear().toposort() if c.op is Ops.CALL and c.src[0].op is Ops.SINK]


def tensor_programs():
  """Yields name, tensor, settings, and for each target a list of opts (None: those that tinygrad chooses)."""
  from tinygrad import Tensor, dtypes
  from tinygrad.codegen.opt import Opt, OptOps
  O, I, L, H, B8 = OptOps, dtypes.int, dtypes.long, dtypes.half, dtypes.bfloat16
  def e(*shape, t=dtypes.float): return Tensor.empty(*shape, dtype=t)
  plain, none, cl = {CPU: None}, {CPU: ()}, {CL: None}
  yield "arange", Tensor.arange(3, 27, 3) * 2, {}, plain
  yield "matmul", e(8, 8) @ e(8, 8), {}, {CPU: None, CL: (Opt(O.LOCAL, 0, 2), Opt(O.UPCAST, 1, 4))}
  opened = (Opt(O.UPCAST, 0, 3), Opt(O.UNROLL, 0, 2))
  yield "matmul_opts", e(6, 4) @ e(4, 8), {}, {CPU: opened, CL: (Opt(O.GROUP, 0, 4),)}
  yield "matmul_loops", e(3, 5, t=I) @ e(5, 4, t=I), {}, none
  yield "sum", e(3, 32).sum(1), {}, {CPU: None, CL: (Opt(O.GROUPTOP, 0, 8),)}
  grouped = (Opt(O.LOCAL, 0, 2), Opt(O.GROUP, 0, 4), Opt(O.UPCAST, 0, 2))
  yield "sum_group", e(4, 16).sum(1), {}, {CL: grouped} | dict.fromkeys((CUDA, HIP, METAL), (Opt(O.GROUP, 0, 8),))
  yield "sum_int", e(5, 7, t=I).sum(0), {}, none
  yield "max", e(4, 6).max(1), {}, plain
  yield "max_int", e(4, 9, t=I).max(), {}, none
  yield "prod", e(4, 3, t=I).prod(1), {}, none
  yield "var", e(2, 8).var(1), {}, plain
  yield "softmax", e(2, 6).softmax(1), {}, none
  lower = Tensor.arange(6).reshape(1, 6) <= Tensor.arange(6).reshape(6, 1)
  yield "masked", lower.where(e(6, 6), -float("inf")).max(1), {}, none
  yield "pad", e(5, 5).pad(((1, 2), (0, 3))) + 1, {}, {CPU: None, CL: None}
  yield "cumsum", e(12).cumsum(0), {}, plain
  yield "conv", e(1, 2, 5, 5).conv2d(e(2, 2, 3, 3)), {}, {CPU: None, CL: (Opt(O.UPCAST, 0, 2),)}
  yield "pool", e(1, 1, 6, 6).max_pool2d(3, 2, padding=1), {}, plain
  yield "one_hot", e(5, t=I).one_hot(6), {}, none
  yield "gather", e(7, 3)[e(4, t=I)], {}, {CPU: None, CL: None}
  yield "bitcast", (e(8).bitcast(I) + 5).bitcast(dtypes.float), {}, plain
  yield "div", e(12, t=I) // 7 + e(12, t=I) % -5, {}, none
  yield "div_pow2", e(12, t=I) // 8 - e(12, t=I) % 16, {}, none
  yield "div_tensors", e(12, t=I) // (e(12, t=I).maximum(1)), {}, none
  yield "idiv", e(12, t=dtypes.ushort) // 7, {"DISABLE_FAST_IDIV": 0}, none
  yield "compare", ((e(8, t=I) < 5).logical_not() & (e(8, t=I) > -3)).where(e(8, t=I), -1), {}, none
  yield "half", (e(8, t=H) * 2.5 + 1).cast(dtypes.float), {}, {CPU: None, CUDA: None, HIP: None, METAL: None}
  yield "half_emulated", (e(6, t=H) + 1.5), {"EMULATED_DTYPES": "half"}, none
  yield "bf16", e(6, t=B8) * e(6, t=B8), {}, {CL: None}
  yield "fp8", e(6).cast(dtypes.fp8e4m3), {}, none
  yield "fp8_load", e(6, t=dtypes.fp8e5m2).cast(dtypes.float) + 1, {}, none
  words = {"EMULATED_DTYPES": "long"}
  yield "long", e(6, t=L) * e(6, t=L) - 7000000000, words, none
  yield "long_shift", (e(6, t=L) << 7) + (e(6, t=L) >> 35), words, none
  yield "long_compare", (e(6, t=L) < e(6, t=L)).where(e(6, t=I).cast(L), e(6, t=L)), words, none
  yield "long_float", e(6, t=L).float() + e(6, t=dtypes.uint).cast(L).float(), words, none
  yield "casts", e(8, t=I).cast(dtypes.int8).cast(L) + e(8).cast(dtypes.uint8).cast(L), {}, none
  yield "flip", e(4, 6).flip(1).permute(1, 0).contiguous() + 1, {}, {CPU: None, CL: (Opt(O.LOCAL, 0, 3),)}
  yield "cat", e(3, 4).cat(e(2, 4)), {}, {CPU: None, CL: None}
  yield "exp2", e(8).exp2(), {}, none
  yield "log2", e(8).log2(), {}, none
  yield "sin", e(8).sin(), {}, none
  yield "pow", e(8).pow(e(8)), {}, none
  yield "pow_const", e(8) ** 3 + (e(8) * e(8)).reciprocal(), {}, none
  yield "sigmoid", e(8).sigmoid(), {}, none
  yield "sqrt", e(8).sqrt() / e(8), {}, {CPU: None, CUDA: None}
  yield "argmax", e(3, 6).argmax(1), {}, none
  yield "random", Tensor.empty(4, dtype=dtypes.uint32).cast(dtypes.uint64) * 3 + 1, {}, none
  yield "tril", e(5, 5).tril(1) * 2, {}, {CPU: None, CL: None}
  yield "roll", e(9).roll(4) + e(9).shrink(((0, 9),)), {}, none
  yield "clip", e(8, t=I).clip(-4, 6) + e(8, t=I).relu(), {}, none
  a, b, c, d = (e(6, t=dtypes.bool) for _ in range(4))
  yield "bools", (a | b).logical_not() & (c != d), {}, none
  yield "interleave", e(4, 6).reshape(2, 2, 2, 3).permute(2, 0, 3, 1).contiguous() * 3, {}, {CPU: None, CL: None}
  product = e(16, 16, t=H).matmul(e(16, 16, t=H), dtype=dtypes.float)
  yield "matmul_tc", product, {}, dict.fromkeys((CUDA, HIP), (Opt(O.TC, 0, (-1, 0, 1)),))
  padded = Opt(O.PADTO, 0, 4)
  yield "padto", e(7, 5).sum(1), {}, {CPU: (padded, Opt(O.UPCAST, 0, 4)), CL: (padded, Opt(O.LOCAL, 0, 4))}
  U, U8, S8 = dtypes.uint, dtypes.uint8, dtypes.int8
  yield "roundtrip", e(8, t=I).float().cast(I) + e(8, t=L).cast(I).cast(L).cast(I), {}, none
  yield "roundtrip_half", e(8, t=dtypes.short).half().cast(dtypes.short), {}, none
  yield "roundtrip_sign", e(8, t=I).cast(U).cast(L) + e(8, t=dtypes.ushort).cast(dtypes.short).cast(L), {}, none
  yield "not_less", (e(8) < 5).logical_not().where(e(8), 1) + (e(8) > 2).logical_not().where(3.0, e(8)), {}, none
  yield "not_less_uint", (e(8, t=U) < 1).logical_not().where(e(8, t=U), 7), {}, none
  yield "between", ((e(8) > 1) & (e(8) < 3)).where(e(8), 0), {}, none
  yield "is_nan", (a := e(8)).ne(a).where(0, a), {}, none
  yield "maximum", e(8).maximum(e(8)) - e(8).minimum(2), {}, none
  yield "sum_less", (e(8) + 1000000 < 1000001).where(e(8), -1), {}, none
  b = e(8, t=I)
  ends = [(b & 15) < 15, b % 7 < 6, b >> 28 < 4, e(8, t=U8).cast(I) < 255, e(8, t=S8).cast(I) < -127, b.maximum(3) < 4]
  yield "by_bounds", sum(end.where(1 << i, 0) for i, end in enumerate(ends)), {}, none
  yield "wrap", ((e(8, t=U8) + 200) < 210).where(1, 0) + (e(8, t=I).cast(U8).cast(I) < 200).where(2, 0), {}, none
  yield "largest_product", (e(4, 3) * -2).max(1), {}, none
  yield "threads", e(64, 4) + 1, {}, {CPU: (Opt(O.THREAD, 0, 2),)}


def uop_programs():
  """Yields name, graph, settings and targets of kernels that no tensor makes, or only large ones."""
  from tinygrad import UOp, dtypes
  from tinygrad.codegen.opt import Opt, OptOps
  from tinygrad.dtype import AddrSpace
  from tinygrad.uop.ops import AxisType, KernelInfo, Ops
  F, I = dtypes.float, dtypes.int
  def p(n, t, slot): return UOp.placeholder((n,), t, slot)
  def stored(value, *loops, n=12, at=None):
    "Returns a kernel that stores the value at `at`, or at the first loop's index."
    return finish(p(n, value.dtype, 0).index(loops[0] if at is None else at).store(value).end(*loops))
  def finish(x): return x.sink(arg=KernelInfo(name="k", opts_to_apply=()))
  none, four = {CPU: ()}, Opt(OptOps.UPCAST, 0, 4)
  r, s, q = UOp.range(12, 0), UOp.range(4, 1), UOp.range(16, 0)
  x, y = p(12, F, 1).index(r), p(12, F, 2).index(r)
  yield "divmod", stored(p(64, F, 1).index(r // 3 * 5 + (r + 17) // 5 + r % 6 * 2) * 2.0, r), {}, none
  yield "bounds", stored((r * 3 < 20).where(p(12, F, 1).index(r.valid(r < 9)), UOp.const(1.5, F)), r), {}, none
  yield "gated", stored(x + 1.0, r, at=r.valid(r < 7)), {}, {CPU: (four,), CL: ()}
  yield "masks", stored(((p(12, I, 1).index(r) & 12) >> 1) + ((p(12, I, 2).index(r) | 3) | 8), r), {}, none
  yield "vectors", stored(p(20, F, 1).index(q + 4) * p(16, F, 2).index(15 - q), q, n=16), {}, {CPU: (four,)}
  both = UOp.group(p(12, F, 0).index(r).store(y + 1.0), p(12, F, 1).index(r).store(y * 2.0))
  yield "two_stores", finish(both.end(r)), {}, none
  yield "in_place", finish(p(12, F, 0).index(r).store(p(12, F, 0).index(r) * x).end(r)), {}, none
  first = p(12, F, 0).index(r).store(x + 1.0).end(r)
  t = UOp.range(12, 5)
  yield "after_store", finish(p(12, F, 2).index(t).store(p(12, F, 0).after(first).index(11 - t) * 2.0).end(t)), {}, none
  yield "keep", finish(p(12, F, 0).index(r).store((x < 0).where(x, p(12, F, 0).index(r))).end(r)), {}, none
  v = p(12, I, 1).index(r)
  folded = v
  for i, (op, m, n) in enumerate(((Ops.CDIV, -7, 2), (Ops.CMOD, -7, 3), (Ops.FLOORDIV, -7, 2), (Ops.FLOORMOD, -7, 3),
                                  (Ops.MAX, 3, 5), (Ops.XOR, 6, 3))):
    folded = folded + UOp.const(m, I).alu(op, UOp.const(n, I)) * (2 * i + 3)
  yield "constants", stored(folded, r), {}, none
  yield "wide", stored((r.cast(dtypes.long) * 500000000 + v.cast(dtypes.long)).cast(dtypes.long), r), {}, none
  n = UOp.variable("n", 1, 10, param=True)
  u = UOp.range(n, 6)
  yield "variable", stored(p(40, F, 1).index(u * 3 + n), u, n=16), {}, none
  j, k, l = (UOp.range(n, i, AxisType.REDUCE) for n, i in ((3, 2), (5, 3), (2, 4)))
  total, largest = p(12, F, 1).index(s * 3 + j).reduce(j, arg=Ops.ADD), p(12, F, 2).index(s + j).reduce(j, arg=Ops.MAX)
  yield "two_sums", stored(total * largest, s, n=4), {}, {CPU: (), CL: ()}
  inner = p(10, F, 1).index(k * 2 + l).reduce(l, arg=Ops.MAX)
  outer = (inner * p(20, F, 2).index(s * 5 + k)).reduce(k, arg=Ops.ADD)
  yield "nested", stored(outer, s, n=4), {}, {CPU: (), CL: ()}
  acc = UOp.placeholder((1,), F, 0, AddrSpace.REG)
  start = acc.after(s).index(UOp.const(0)).store(UOp.const(0.5, F))
  step = acc.after(start, k).index(UOp.const(0))
  done = step.store(step + p(20, F, 1).index(s * 5 + k)).end(k)
  yield "accumulator", stored(acc.after(done).index(UOp.const(0)), s, n=4), {}, none
  a, w = UOp.special(8, "lidx0"), UOp.placeholder((8,), F, 0, AddrSpace.LOCAL)
  filled = w.index(a).store(p(8, F, 1).index(a) * 2.0)
  shared = finish(p(8, F, 0).index(a).store(w.after(filled).index(7 - a)))
  yield "shared", shared, {}, dict.fromkeys((CL, CUDA, HIP, METAL), ())
  b, c, d, e = (UOp.range(n, i, AxisType.GLOBAL) for i, n in enumerate((2, 3, 4, 5)))
  turned = p(120, F, 1).index(((e * 4 + d) * 3 + c) * 2 + b)
  yield "grid", stored(turned, b, c, d, e, n=120, at=((b * 3 + c) * 4 + d) * 5 + e), {}, {CL: (), CUDA: ()}
  def unary(name, op, t): return name, stored(op(p(12, t, 1).index(r)), r), {}, none
  yield unary("cdiv", lambda v: v.alu(Ops.CDIV, v.const_like(8)) + v.alu(Ops.CMOD, v.const_like(3)), I)
  yield unary("cube", lambda v: v.alu(Ops.POW, v.const_like(3.0)), F)
  yield unary("shift", lambda v: (v >> 2) ^ (v * 8), I)
  yield unary("narrow", lambda v: v.cast(dtypes.int8).cast(dtypes.short).cast(dtypes.uint), I)
  yield unary("bits", lambda v: v.bitcast(dtypes.uint).cast(dtypes.float), F)
  yield unary("threefry", lambda v: v.alu(Ops.THREEFRY, v + 5), dtypes.uint64)


def make(path):
  programs, lines = {}, collections.defaultdict(set)
  for name, tensor, settings, targets in tensor_programs():
    for i, graph in enumerate(kernels_of(tensor)):
      programs[name + (f".{i}" if i else "")] = settings, with_opts(graph, targets)
  for name, graph, settings, targets in uop_programs(): programs[name] = settings, with_opts(graph, targets)
  sources = {}
  for name in programs:
    seen = set()
    def trace(frame, event, _):
      if "/tinygrad/" not in (file := frame.f_code.co_filename): return None
      if event == "line": seen.add(f"{file.rpartition('/tinygrad/')[2]}:{frame.f_lineno}")
      return trace
    sys.settrace(trace)
    for _, target, program in compile_all(programs, [name]):
      sources[name, target] = source_of(program)
    sys.settrace(None)
    for line in seen: lines[line].add(name)
  right = {(name, target): values(programs[name][1][target], program, target)
           for name, target, program in compile_all(programs, programs) if target in (CPU, CL)}
  with open(path, "wb") as file: pickle.dump((programs, sources, right, {k: sorted(v) for k, v in lines.items()}), file)


def with_opts(graph, targets):
  return {t: graph.replace(arg=dataclasses.replace(graph.arg, opts_to_apply=opts)) for t, opts in targets.items()}


@functools.cache
def renderer(target):
  """Returns tinygrad's renderer of a target, which compiles no source."""
  sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
  from tgc.export.records import make_renderer
  return make_renderer(target)


def compile_all(programs, names):
  """Yields name, target, tinygrad's program; skips those for which tinygrad raises an exception."""
  from tinygrad.codegen import to_program
  from tinygrad.helpers import Context
  for name in names:
    settings, graphs = programs[name]
    for target, graph in graphs.items():
      with Context(**settings), contextlib.suppress(Exception): yield name, target, to_program(graph, renderer(target))


def source_of(program):
  from tinygrad.uop.ops import Ops
  return next((s.arg for s in program.src if s.op is Ops.SOURCE), "")


def values(graph, program, device):
  """Returns the arrays after runs on small numbers and after runs on any numbers, three runs each."""
  import numpy as np
  from tinygrad import Device
  from tinygrad.device import Buffer
  from tinygrad.dtype import _to_np_dtype, dtypes
  from tinygrad.uop.ops import Ops, UOp
  params = sorted({u for u in graph.toposort() if u.op is Ops.PARAM and u.arg.slot >= 0}, key=lambda u: u.arg.slot)
  library = Device[device].renderer.compiler.compile(source_of(program))
  parts = tuple(s for s in program.src if s.op is not Ops.BINARY)
  program = program.replace(src=parts + (UOp(Ops.BINARY, arg=library),))
  runtime, out = Device[device].runtime(program.to_elf()), [[], []]
  for draw in range(6):
    is_any, random, buffers = draw > 2, np.random.default_rng(draw), {}
    for u in params:
      n = u.max_numel() + 16
      if u.dtype in dtypes.floats:
        v = random.normal(size=n) * (10.0 ** random.integers(-6, 6, n) if is_any else 3)
        if is_any: v[::5] = random.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-41, 130, -150], len(v[::5]))
        v = v.astype(np.float32)
        if u.dtype is dtypes.bfloat16: raw = (v.view(np.uint32) >> 16).astype(np.uint16)
        elif u.dtype.itemsize == 1: raw = random.integers(0, 256, n).astype(np.uint8)
        else: raw = v.astype(_to_np_dtype(u.dtype))
      elif u.dtype is dtypes.bool: raw = random.integers(0, 2, n).astype(bool)
      else:
        kind = np.iinfo(_to_np_dtype(u.dtype))
        low, high = (kind.min, kind.max) if is_any else (max(kind.min, -9), 10)
        raw = random.integers(low, high, n, dtype=kind.dtype)
        if is_any and u.dtype is dtypes.long: raw //= 2 ** random.integers(0, 40, n)
      buffers[u.arg.slot] = Buffer(device, n, u.dtype, initial_value=raw.tobytes())
    runtime(*[buffers[i].get_buf(device) for i in program.arg.globals], global_size=program.arg.global_size,
            local_size=program.arg.local_size, vals=program.arg.vals({"core_id": 0, "n": 7}), wait=True)
    for b in buffers.values():
      raw, kind = np.frombuffer(bytes(b.as_memoryview()), np.uint8), b.dtype
      if kind is dtypes.bfloat16: array = (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
      else: array = raw if kind.itemsize == 1 else raw.view(_to_np_dtype(kind))
      out[is_any].append(array.tolist())
  return out


def largest_difference(a, b):
  """Returns the largest difference of a pair, relative to its larger number (or 0.001); infinite for integers and
  for numbers that are not finite."""
  worst = 0.0
  for x, y in zip(a, b):
    if x == y or (x != x and y != y): continue
    is_exact = not isinstance(x, float) or not math.isfinite(x) or not math.isfinite(y)
    worst = max(worst, math.inf if is_exact else abs(x - y) / max(abs(x), abs(y), 1e-3))
  return worst


def difference(found, right):
  """Returns how values are wrong: "plain", "special" (only for unusual numbers), "rounding" (a little), or "" (not)."""
  small, unusual = (max(map(largest_difference, x, y)) for x, y in zip(found, right))
  if small > 0.004: return "plain"
  return "special" if unusual > 0.004 else "rounding" if max(small, unusual) > 0 else ""


def main():
  command, path, *names = sys.argv[1:]
  if command == "make":
    make(path)
    return
  with open(path, "rb") as file: programs, sources, right, _ = pickle.load(file)
  changed = []
  for name, target, program in compile_all(programs, names):
    if source_of(program) == sources.get((name, target)): continue
    changed.append((name, target, program))
    if len(changed) == 4: break
  for name, target, program in changed:
    row = {"program": name, "target": target, "source": source_of(program)}
    if target in (CPU, CL):
      row["values"] = "error"
      with contextlib.suppress(Exception):
        row["values"] = difference(values(programs[name][1][target], program, target), right[name, target])
    print(json.dumps(row), flush=True)


if __name__ == "__main__": main()
