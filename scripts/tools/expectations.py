#!/usr/bin/env python3
"""Writes testdata/expect/*: the results of Python and tinygrad 0.12.0 that tgc's tests expect.

  scripts/tools/expectations.py            needs an importable tinygrad 0.12.0; the output is the same every time
"""
import itertools, json, math, os, pathlib, random, struct, sys
os.environ.setdefault("SPEC", "0")
sys.setrecursionlimit(20000)
sys.set_int_max_str_digits(0)
from tinygrad.uop.ops import UOp, Ops, AxisType, KernelInfo, Kernel, pyrender, sint_to_uop
from tinygrad.dtype import dtypes, AddrSpace, Invalid, DType, truncate, least_upper_dtype, least_upper_float, can_lossless_cast, sum_acc_dtype
from tinygrad.dtype import float_to_fp8, fp8_to_float, float_to_bf16, float_to_fp16
from tinygrad.codegen.opt import Opt, OptOps, tc
from tinygrad.schedule.rangeify import BufferizeOpts
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from tgc.export.golden import golden_lines
from tgc.export.graph_text import read_graph

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../testdata", "expect")
def write(name, lines):
  with open(os.path.join(OUT, name), "w") as f: f.write("\n".join(lines) + "\n")
  print(f"{name}: {len(lines)} lines")

# ---- integers: "op a b result", in decimal; "error" where Python raises
def cdiv(a, b): return abs(a) // abs(b) * (1 if a * b > 0 else -1) if b != 0 else 0
def cmod(a, b): return a - cdiv(a, b) * b
INT_OPS = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "floordiv": lambda a, b: a // b, "floormod": lambda a, b: a % b,
           "cdiv": cdiv, "cmod": cmod, "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "gcd": math.gcd,
           "less": lambda a, b: int(a < b)}
def ints():
  r = random.Random(1)
  def random_int():
    bits = r.choice([3, 8, 31, 32, 33, 62, 63, 64, 65, 100, 127, 128, 129, 200])
    return r.choice([1, -1]) * r.choice([r.getrandbits(bits), (1 << bits) - 1, 1 << bits, r.getrandbits(4)])
  lines = []
  for _ in range(60):
    for name, f in INT_OPS.items():
      a, b = random_int(), random_int()
      try: lines.append(f"{name} {a} {b} {f(a, b)}")
      except ZeroDivisionError: lines.append(f"{name} {a} {b} error")
  for _ in range(120):
    a, n = random_int(), r.choice([0, 1, 5, 31, 63, 64, 65, 130])
    lines += [f"shl {a} {n} {a << n}", f"shr {a} {n} {a >> n}", f"bits {a} 0 {a.bit_length()}", f"low64 {a} 0 {a % 2**64}"]
  for _ in range(60):
    a, n = r.randint(-9, 9), r.randint(0, 70)
    lines.append(f"pow {a} {n} {a ** n}")
  for _ in range(60):  # conversions to and from a double, which is written as the hex digits of its bits
    a = random_int()
    lines.append(f"double {a} 0 {struct.pack('>d', float(a)).hex()}")
    d = r.choice([1, -1]) * math.ldexp(r.random(), r.randint(-3, 200))
    lines.append(f"trunc {struct.pack('>d', d).hex()} 0 {int(d)}")
  write("int.txt", lines)

# ---- sorting, also with inconsistent comparisons: "kind modulus limit seed : items : sorted items"
class SortItem:
  def __init__(self, i, rule): self.i, self.rule = i, rule
  def __lt__(self, o): return self.rule(self.i, o.i)
def sorts():
  r, lines = random.Random(2), []
  for k in range(260):
    n = r.choice([2, 3, 5, 9, 20, 33, 63, 64, 65, 100, 130, 200, 300, 500])
    m, limit, seed = r.choice([(2, 1), (3, 1), (5, 2), (7, 3), (97, 48), (1009, 500), (1, 0)]) + (r.randint(0, 10**6),)
    if k % 3 == 0:    # a consistent order by value, with ties
      rule, kind = (lambda a, b: a * 7919 % 101 < b * 7919 % 101), "order"
    elif k % 3 == 1:  # near values compare equal
      rule, kind = (lambda a, b: a * 7919 % 1009 + 40 < b * 7919 % 1009), "near"
    else:             # no consistent order
      rule, kind = (lambda a, b: (a * 7919 + b * 104729 + seed) % m < limit), "none"
    items = [SortItem(i, rule) for i in range(n)]
    if k % 5 == 0: items.sort(key=lambda x: x.i * 7919 % 101)       # the input has sorted runs
    start = [x.i for x in items]
    if kind == "order" and k % 5 == 0: start = list(range(n)); items = [SortItem(i, rule) for i in range(n)]
    items.sort()
    lines.append(f"{kind} {m} {limit} {seed} : {' '.join(map(str, start))} : {' '.join(str(x.i) for x in items)}")
  write("sort.txt", lines)

# ---- repr of floats ("bits text"), of strings ("hex of the UTF-8 text", then the repr as JSON)
def reprs():
  r = random.Random(3)
  values = [0.0, -0.0, 1.0, -1.0, 0.1, 1e16, 1e15, 123456789012345678.0, 1e-4, 1e-5, 9.999999e-5, math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308,
            2.5, 1/3, 1e22, 1e23, 4294967296.0, 0.30000000000000004]
  values += [struct.unpack(">d", r.randbytes(8))[0] for _ in range(400)] + [float(r.randint(-10**6, 10**6)) / r.choice([1, 2, 7, 100, 4096]) for _ in range(400)]
  values += [struct.unpack(">f", r.randbytes(4))[0] for _ in range(200)]
  write("float_repr.txt", [f"{struct.pack('>d', v).hex()} {v!r}" for v in values if not (math.isnan(v) and struct.pack('>d', v) != struct.pack('>d', math.nan))])
  texts = ["", "a", "it's", 'say "x"', "both ' and \"", "a\\b", "line\nnext\ttab\rret", "\x00\x01\x1b[31m\x7f", "caf\u00e9 \u00ad \u00a0", "\u0394 \u2028 \u200b \u3000 \ufeff",
           "\U0001f600 \U000e0001 \ue000", "\u0600\u061c", "n=\u221e", "r\x1b[90m_\x1b[0m"]
  texts += ["".join(r.choice("ab'\"\\\n\x1b \u00e9\u4e2d\U0001f600") for _ in range(r.randint(1, 12))) for _ in range(100)]
  write("str_repr.txt", [f"{t.encode().hex() or '-'} {json.dumps(repr(t))}" for t in texts])

SCALARS = [dtypes.bool, dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16, dtypes.int32, dtypes.uint32, dtypes.int64, dtypes.uint64, dtypes.fp8e4m3,
           dtypes.fp8e5m2, dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64]
def show(v): return "Invalid" if v is Invalid else repr(v)
def dtype_tables():
  lines = []
  for a in SCALARS:
    for b in SCALARS: lines.append(f"promote {a} {b} {least_upper_dtype(a, b)}")
    for b in SCALARS + [dtypes.index]: lines.append(f"lossless {a} {b} {int(can_lossless_cast(a, b))}")
    lines.append(f"float {a} - {least_upper_float(a)}")
    lines.append(f"acc {a} - {sum_acc_dtype(a)}")
    lines.append(f"min {a} - {show(dtypes.min(a))}")
    lines.append(f"max {a} - {show(dtypes.max(a))}")
    lines.append(f"size {a} - {a.itemsize}")
  for d in SCALARS + [dtypes.void, dtypes.index]:
    lines.append(f"name {d} - {d.name}")
    lines.append(f"priority {d} - {d.priority}")
    lines.append(f"bits {d} - {d.bitsize}")
  some = [dtypes.float, dtypes.float.vec(4), dtypes.int, dtypes.index.vec(2), dtypes.float.ptr(16), dtypes.float.ptr(64), dtypes.half.vec(8).ptr(32, AddrSpace.LOCAL),
          dtypes.float.ptr(16).vec(4), dtypes.imagef((4, 16, 4)), dtypes.imageh((4, 16, 4)), dtypes.bool, dtypes.void, dtypes.float.ptr(12, AddrSpace.REG)]
  for a in some:
    for b in some: lines.append(f"less {str(a).replace(' ', '')} {str(b).replace(' ', '')} {int(a < b)}")
  write("dtype.txt", lines)
  r = random.Random(4)
  values = [0, 1, -1, 127, 128, 255, 256, -129, 65535, 2**31, 2**32, 2**63, 2**64, -2**63, 2**100, True, False]
  floats = [0.0, -0.0, 0.1, 1.5, -2.75, 65504.0, 65519.9, 65520.0, 1e-8, 6e-8, 448.0, 464.0, 465.0, 57344.0, 61440.0, 61441.0, 1e-3, 2**-9, 2**-10, 2**-16, 2**-17, 3.4e38, 1e39,
            math.inf, -math.inf, math.nan] + [r.choice([1, -1]) * math.ldexp(r.random(), r.randint(-30, 20)) for _ in range(150)]
  lines = []
  for d in SCALARS:
    for v in (values if dtypes.is_int(d) else [v for v in values if abs(v) < 2**64] + floats):
      try: lines.append(f"{d} {v!r} {show(truncate[d](v))}")
      except (OverflowError, ValueError, struct.error): lines.append(f"{d} {v!r} error")
  write("truncate.txt", lines)
  lines = [f"{kind} {i} {fp8_to_float(i, kind)!r}" for kind in (dtypes.fp8e4m3, dtypes.fp8e5m2) for i in range(256)]
  write("fp8.txt", lines)

# ---- tensor cores: name of the list and index in it | str() | threads | elements per thread | shape | permutation of A
# | permutation of B | upcast axes
def tensor_cores():
  ptx = [core for core in tc.cuda_sm80 if core.dtype_in in (dtypes.half, dtypes.float)]  # the ones that PTXRenderer uses
  lists = {"cuda 75": tc.cuda_sm75, "cuda 89": tc.cuda_sm89, "ptx 80": ptx, "amd gfx1100": tc.amd_rdna3, "amd gfx1201": tc.amd_rdna4,
           "amd gfx942": tc.amd_cdna3, "amd gfx950": tc.amd_cdna4, "metal": tc.metal, "amx": tc.amx, "intel": tc.intel}
  def row(name, i, core):
    shape = core.base_shape_str()
    a, b = core.permutes_for_shape_str(shape)
    return [f"{name} {i}", str(core), core.threads, core.elements_per_thread, shape, a, b, core.base_upcast_axes()]
  def cell(v): return " ".join(map(str, v)) if isinstance(v, (list, tuple)) else str(v)
  write("tensor_cores.txt", [" | ".join(map(cell, row(name, i, core))) for name, cores in lists.items() for i, core in enumerate(cores)])

# ---- derived facts of graphs, one line of JSON per graph
def sort_key(u): return u.tuplize
def fact(f):
  try: return f()
  except Exception: return "error"
def number(v): return "Invalid" if v is Invalid else repr(v)
def facts_of(text):
  ast = read_graph(text)
  nodes = list(ast.toposort())
  index = {u: i for i, u in enumerate(nodes)}
  def dim(s): return s if isinstance(s, int) else s.render()
  def facts_of_node(u):
    shape = fact(lambda: u._shape)
    return {"op": u.op.name, "min": fact(lambda: number(u.vmin)), "max": fact(lambda: number(u.vmax)), "ranges": [index[r] for r in u.ranges],
            "ended": [index[r] for r in u.ended_ranges], "shape": shape if shape in (None, "error") else [dim(s) for s in shape],
            "device": fact(lambda: repr(u._device)), "key": u.key.hex()[:16], "render": fact(lambda: u.render(simplify=False)) if len(u.toposort()) < 25 else None}
  order = None
  try: order = [index[u] for u in sorted(nodes, key=sort_key)]
  except TypeError: pass
  return json.dumps({"text": text, "nodes": [facts_of_node(u) for u in nodes], "order": order}, separators=(",", ":"))

GRAPHS = [
  # bounds of integer ops, signs mixed
  "a = UOp.variable('a', -7, 12)\nb = UOp.variable('b', 2, 5)\nc = UOp.variable('c', -9, -3)\nast = UOp.sink(a+b, a*c, a//b, a%b, a//c, b%c, a&UOp.const(dtypes.index, 6), b<<UOp.const(dtypes.index, 3), a>>UOp.const(dtypes.index, 1), a.maximum(b), a<b, c<b, a!=b, (a<b)|(b<c), (a<b)&(c<b), (a<b).where(a, b), a.cast(dtypes.int), a.cast(dtypes.float), a-b, c%b, a%c, c//c)",
  "a = UOp.variable('a', 0, 9)\nast = UOp.sink(a%UOp.const(dtypes.index, 4), a//UOp.const(dtypes.index, 4), a*UOp.const(dtypes.index, -3), (a+UOp.const(dtypes.index, 5))%UOp.const(dtypes.index, 20), a.cast(dtypes.uchar), a.cast(dtypes.bool))",
  "x = UOp.const(dtypes.float, 1.5)\ny = UOp(Ops.DEFINE_REG, dtypes.float.ptr(4, AddrSpace.REG), (), 0)\nast = UOp.sink(x+x, x.exp2(), x<x, y.index(UOp.const(dtypes.int, 2)), UOp(Ops.VCONST, dtypes.int.vec(3), (), (3, -1, 2)), UOp.const(dtypes.index, Invalid), UOp(Ops.VECTORIZE, dtypes.float.vec(2), (x, x)))",
  # ranges that begin, end, and still run where a node uses them
  "r0 = UOp.range(4, 0, AxisType.LOOP)\nr1 = UOp.range(3, 1, AxisType.REDUCE)\nr2 = UOp.range(r0+1, 2, AxisType.LOOP)\nb = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(16), (), 0)\nv = b.index(r0*3+r1).load().reduce(r1, arg=Ops.ADD)\ne = b.index(r0+r2, ptr=True).store(v).end(r2)\ns = b.after(e).index(r0, ptr=True).store(v).end(r0)\nast = s.sink(arg=KernelInfo())",
  # shapes and devices
  "a = UOp.new_buffer('CPU', 24, dtypes.float, 1)\nb = a.reshape((2, 3, 4))\nc = b.permute((2, 0, 1)).pad(((0, 0), (1, 2), (0, 0)))\nd = c.shrink(((1, 3), (0, 5), (0, 3))).flip((1,))\ne = b.r(Ops.ADD, (1,)).expand((2, 3, 4))\nast = UOp.sink(d, e+b, b.cast(dtypes.half), b.bitcast(dtypes.uchar), a.copy_to_device('CPU:1').contiguous())",
  "n = UOp.variable('n', 1, 16)\na = UOp.new_buffer('CPU', 64, dtypes.float, 1)\nb = a.reshape((16, 4)).shrink(((0, n), (0, 4)))\nast = UOp.sink(b, b.r(Ops.MAX, (0,)), b.permute((1, 0)))",
]
def uops():
  texts = list(GRAPHS)
  corpus = os.path.join(OUT, "..", "golden")
  for name, take in (("kernels", 25), ("tensor", 6)):
    got = 0
    for line in itertools.islice(golden_lines(os.path.join(corpus, name + ".jsonl.gz")), 1, None):
      record = json.loads(line)
      for text in [record["ast"]] + [s.get("ir") for s in record["stages"][7:13]]:
        if not text or len(text) > 3500 or got >= take or "UOp.const(dtypes.uint" in text: continue
        try: ok = pyrender(read_graph(text)) == text
        except Exception: ok = False
        if ok: texts.append(text); got += 1; break
  write("uops.jsonl", [facts_of(t) for t in texts])

for part in (ints, sorts, reprs, dtype_tables, tensor_cores, uops): part()
