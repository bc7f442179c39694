"""Draws inputs and attributes for ops of ONNX's opset 23. `DRAWS[op](random)` returns a Node or None.

scripts/tools/onnx_reference runs the nodes.
"""
import dataclasses, math

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOATS = [np.float32, np.float32, np.float32, np.float16, np.float64]
INTS = [np.int32, np.int64, np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64]
NUMBERS = FLOATS + [np.int32, np.int64, np.int32, np.int64]


@dataclasses.dataclass
class Node:
  inputs: list  # numpy arrays, lists of arrays (sequences), or None for an omitted input
  attributes: dict
  outputs: int = 1
  opset: int = 23
  random: bool = False  # the result depends on a generator that ONNX leaves open


class Random:
  def __init__(self, *seed): self.g = np.random.default_rng(seed)
  def int(self, low, high): return int(self.g.integers(low, high + 1))
  def pick(self, values): return values[self.int(0, len(values) - 1)]
  def chance(self, p=0.5): return bool(self.g.random() < p)
  def real(self, low, high): return round(float(self.g.uniform(low, high)), 3)
  def shape(self, low=1, high=4, most=5): return [self.int(1, most) for _ in range(self.int(low, high))]
  def axis(self, rank): return self.int(-rank, rank - 1)
  def axes(self, rank, least=1):
    picked = self.g.permutation(rank)[: self.int(least, rank)]
    return [int(a) - (rank if self.chance(0.3) else 0) for a in picked]
  def bools(self, *shape): return self.g.random(shape) < 0.5
  def ints(self, low, high, shape, dtype=np.int64): return self.g.integers(low, high + 1, shape).astype(dtype)

  def values(self, shape, dtype=np.float32, low=-3.0, high=3.0):
    """Floats between `low` and `high`, small integers, or booleans."""
    if dtype == np.bool_: return self.bools(*shape)
    if np.issubdtype(dtype, np.integer):
      return self.g.integers(max(int(low) * 4, int(np.iinfo(dtype).min)), min(int(high) * 4, 100) + 1, shape).astype(dtype)
    return self.g.uniform(low, high, shape).astype(dtype)

  def special(self, x, p=.2):
    """Puts infinities, zeros or large numbers among the floats of x in a share p of all calls. No NaNs: devices differ
    in comparisons and maxima of NaNs (testdata/known_gaps.md)."""
    if x.dtype.kind != "f" or not self.chance(p): return x
    for v in self.pick([[np.inf, -np.inf], [0.0, -0.0], [np.finfo(x.dtype).max / 2 if x.dtype == np.float16 else 1e30]]): x[self.g.random(x.shape) < .2] = v
    return x

  def broadcast(self, *dtypes, **limits):
    """Returns arrays of these dtypes whose shapes broadcast together."""
    full, out = self.shape(), []
    for dtype in dtypes:
      own = [1 if self.chance(0.25) else n for n in full[self.pick([0, 0, 0, self.int(0, len(full))]):]]
      out.append(self.values(own, dtype, **limits))
    return out

  def some(self, **attributes): return {k: v for k, v in attributes.items() if self.chance(0.7)}


DRAWS = {}


def draws(*names):
  def add(function):
    for name in names: DRAWS[name] = lambda r, name=name: function(r, name)
    return function
  return add


UNARY = {  # op: lowest and highest value
  "Abs": (-3, 3), "Acos": (-1, 1), "Acosh": (1, 5), "Asin": (-1, 1), "Asinh": (-3, 3), "Atan": (-3, 3), "Atanh": (-.9, .9),
  "Ceil": (-3, 3), "Cos": (-9, 9), "Cosh": (-3, 3), "Erf": (-3, 3), "Exp": (-3, 3), "Floor": (-3, 3), "HardSwish": (-5, 5),
  "Log": (.1, 9), "Mish": (-3, 3), "Neg": (-3, 3), "Reciprocal": (.3, 3), "Relu": (-3, 3), "Round": (-3, 3),
  "Sigmoid": (-6, 6), "Sign": (-3, 3), "Sin": (-9, 9), "Sinh": (-3, 3), "Softplus": (-5, 5), "Softsign": (-3, 3),
  "Sqrt": (0, 9), "Tan": (-1.3, 1.3), "Tanh": (-3, 3)}


@draws(*UNARY)
def unary(r, op):
  low, high = UNARY[op]
  kinds = FLOATS + [np.int32, np.int64, np.int8] if op in ("Abs", "Neg", "Sign", "Relu") else FLOATS
  x = r.values(r.shape(0), r.pick(kinds), low, high)
  if op == "Round": x = np.round(x * 2) / 2 if r.chance() else x
  x = np.array(x, x.dtype)
  return Node([x if op in ("Sin", "Cos", "Tan") else r.special(x)], {})  # no large numbers: their last place exceeds a period


@draws("Elu", "Celu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Selu", "Shrink", "Gelu")
def activation(r, op):
  names = {"HardSigmoid": ["alpha", "beta"], "Selu": ["alpha", "gamma"], "Shrink": ["lambd", "bias"], "Gelu": []}
  attributes = r.some(**{n: r.real(.1, 2) for n in names.get(op, ["alpha"])})
  if op == "Gelu": attributes = r.pick([{}, {"approximate": "none"}, {"approximate": "tanh"}])
  kinds = FLOATS + [np.int32, np.int8] if op == "Shrink" else FLOATS[:4]
  return Node([r.special(r.values(r.shape(), r.pick(kinds), -4, 4))], attributes)


@draws("Add", "Sub", "Mul", "Div", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")
def arithmetic(r, op):
  kind = r.pick(FLOATS + INTS)
  a, b = r.broadcast(kind, kind)
  if op == "Equal" and r.chance(0.2): a, b = (np.array([["a", "b"][i % 2] for i in x.flat], object).reshape(x.shape) for x in (a.astype(int), b.astype(int)))
  if op == "Div": b = np.where(b == 0, 1, b).astype(kind)
  return Node([r.special(a), r.special(b)], {})


@draws("Max", "Min", "Sum", "Mean")
def variadic(r, op):
  kind = r.pick(FLOATS + (INTS[:2] if op in ("Max", "Min") else []))
  return Node([r.special(x) for x in r.broadcast(*[kind] * r.int(1, 4))], {})


@draws("Mod")
def mod(r, op):
  kind = r.pick(FLOATS + INTS)
  a, b = r.broadcast(kind, kind, low=-9, high=9)
  b = np.where(np.abs(b) < .1, 2, b).astype(kind)
  return Node([a, b], {"fmod": 1} if kind in FLOATS else r.some(fmod=r.int(0, 1)))


@draws("Pow")
def power(r, op):
  kind, other, own = r.pick(NUMBERS), r.pick(NUMBERS), r.shape()
  base = r.values(own, kind, .2, 3) if kind in FLOATS else r.ints(1, 6, own, kind)
  return Node([base, r.values(r.pick([own, own[-1:], []]), other, .4, 2) if other in FLOATS else r.ints(0, 4, r.pick([own, own[-1:], []]), other)], {})


@draws("And", "Or", "Xor")
def logic(r, op): return Node(r.broadcast(np.bool_, np.bool_), {})


@draws("Not")
def logical_not(r, op): return Node([r.bools(*r.shape())], {})


@draws("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(r, op):
  kind = r.pick(INTS)
  return Node(r.broadcast(kind, kind), {})


@draws("BitwiseNot")
def bitwise_not(r, op): return Node([r.values(r.shape(), r.pick(INTS))], {})


@draws("BitShift")
def bit_shift(r, op):
  kind = r.pick([np.uint8, np.uint16, np.uint32, np.uint64])
  x, y = r.broadcast(kind, kind, low=0)
  return Node([x, (y % (8 * np.dtype(kind).itemsize)).astype(kind)], {"direction": r.pick(["LEFT", "RIGHT"])})


@draws("IsNaN", "IsInf")
def is_special(r, op):
  x = r.values(r.shape(), r.pick([np.float32, np.float64, np.float16] if op == "IsNaN" else [np.float32, np.float64]))
  for v in (np.nan, np.inf, -np.inf): x[r.bools(*x.shape) & r.bools(*x.shape)] = v
  return Node([x], r.some(detect_negative=r.int(0, 1), detect_positive=r.int(0, 1)) if op == "IsInf" else {})


@draws("PRelu")
def prelu(r, op):
  kind, shape = r.pick(FLOATS + [np.int32]), r.shape()
  return Node([r.values(shape, kind), r.values(r.pick([shape, shape[-1:], [1] * len(shape), []]), kind)], {})


@draws("Clip")
def clip(r, op):
  kind = r.pick(NUMBERS + [np.int8, np.uint8])
  bounds = [np.array(r.int(0, 1), kind) if r.chance(.7) else None, np.array(r.int(1, 3), kind) if r.chance(.7) else None]
  return Node([r.special(r.values(r.shape(), kind))] + bounds, {})


@draws("Where")
def where(r, op):
  kind = r.pick(NUMBERS + [np.bool_])
  return Node(r.broadcast(np.bool_, kind, kind), {})


CAST = [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64, TensorProto.INT8,
        TensorProto.UINT8, TensorProto.BOOL, TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2,
        TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2FNUZ, TensorProto.INT4, TensorProto.UINT4, TensorProto.STRING,
        TensorProto.INT16, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64]


@draws("Cast", "CastLike")
def cast(r, op):
  to, shape = r.pick(CAST), r.shape()
  x = r.values(shape, r.pick([*FLOATS, np.int32, np.int64, np.uint8, np.bool_]), 0, 3)
  eighth = to in (TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2FNUZ)
  if to not in (TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64, TensorProto.UINT4) and r.chance():
    x = r.values(shape, r.pick([*FLOATS, np.int32, np.int64, np.int8]), -3, 3)
  if r.chance(.1) and to not in (TensorProto.STRING, TensorProto.BOOL):
    x = np.array([r.pick(["1", "-2.5", "3e1", "0", "7"] if to < TensorProto.UINT8 or to in (10, 11) else ["1", "7", "12"]) for _ in range(math.prod(shape))], object).reshape(shape)
  if eighth: x = r.values(shape, r.pick([np.float32, np.float16]), -600, 600)
  if to == TensorProto.STRING: x = r.values(shape, r.pick([np.int32, np.int64, np.bool_]))
  attributes = r.some(saturate=r.int(0, 1)) if eighth else {}
  if op == "Cast": return Node([x], {"to": to} | attributes)
  return Node([x, np.zeros([1], helper.tensor_dtype_to_np_dtype(to))], attributes)


@draws("Identity")
def identity(r, op): return Node([r.values(r.shape(0), r.pick(NUMBERS + [np.bool_]))], {})


@draws("Shape", "Size")
def shape(r, op):
  return Node([r.values(r.shape(), r.pick(NUMBERS))], r.some(start=r.int(-5, 5), end=r.int(-5, 5)) if op == "Shape" else {})


@draws("Reshape")
def reshape(r, op):
  own = r.shape(1, 4)
  to = [own[i] if r.chance() else 0 for i in range(len(own))] if r.chance(.3) else list(r.g.permutation(own))
  if r.chance(): to[r.int(0, len(to) - 1)] = -1
  if r.chance(.2): own, to = [2, 0, 3], [3, 0, r.int(1, 4)]
  return Node([r.values(own), np.array(to, np.int64)], {"allowzero": 1} if 0 in own else {})


@draws("Flatten")
def flatten(r, op):
  own = r.shape(0)
  return Node([r.values(own)], r.some(axis=r.int(-len(own), len(own))))


@draws("Squeeze")
def squeeze(r, op):
  own = [r.pick([1, 1, 2, 3]) for _ in range(r.int(1, 5))]
  ones = [i for i, n in enumerate(own) if n == 1]
  axes = [i - (len(own) if r.chance() else 0) for i in ones if r.chance()]
  return Node([r.values(own), np.array(axes, np.int64) if axes else None], {})


@draws("Unsqueeze")
def unsqueeze(r, op):
  own, more = r.shape(0, 3), r.int(1, 3)
  rank = len(own) + more
  axes = [int(a) - (rank if r.chance() else 0) for a in r.g.permutation(rank)[:more]]
  return Node([r.values(own, r.pick(NUMBERS)), np.array(axes, np.int64)], {})


@draws("Expand")
def expand(r, op):
  a, b = r.broadcast(r.pick(NUMBERS), np.float32)
  return Node([a, np.array(b.shape, np.int64)], {})


@draws("Tile")
def tile(r, op):
  own = r.shape()
  return Node([r.values(own, r.pick(NUMBERS)), r.ints(0, 3, len(own))], {})


@draws("Transpose")
def transpose(r, op):
  own = r.shape()
  return Node([r.values(own, r.pick(NUMBERS))], r.some(perm=[int(i) for i in r.g.permutation(len(own))]))


@draws("Concat")
def concat(r, op):
  own, kind = r.shape(), r.pick(NUMBERS)
  axis, parts = r.axis(len(own)), []
  for _ in range(r.int(1, 4)):
    own[axis] = r.int(0, 4)
    parts.append(r.values(own, kind))
  return Node(parts, {"axis": axis})


@draws("Slice")
def slice_(r, op):
  own = r.shape(1, 4, 7)
  axes = r.axes(len(own))
  lists = [[r.int(-9, 9) for _ in axes] for _ in range(2)] + [axes, [r.pick([1, 1, 2, -1, -2, 3]) for _ in axes]]
  if r.chance(.2): lists[1] = [r.pick([2**31 - 1, -2**31, 2**63 - 1, -2**63]) for _ in axes]
  kind = r.pick([np.int64, np.int64, np.int32]) if max(map(abs, lists[1])) < 2**31 - 1 else np.int64
  if r.chance(.3): lists[2:] = [None, None] if len(axes) == len(own) else lists[2:]
  return Node([r.values(own, r.pick(NUMBERS))] + [None if v is None else np.array(v, kind) for v in lists], {})


@draws("Split", "SplitToSequence")
def split(r, op):
  own = r.shape(1, 4, 7)
  axis = r.axis(len(own))
  n, x = own[axis], r.values(own, r.pick(NUMBERS))
  cuts = sorted(r.int(0, n) for _ in range(r.int(1, 3)))
  sizes = np.diff([0] + cuts + [n]).astype(np.int64)
  if op == "SplitToSequence":
    given = r.pick([None, sizes, np.array(r.int(1, n), np.int64)])
    return Node([x, given], {"axis": axis} | r.some(keepdims=r.int(0, 1)))
  if r.chance(): return Node([x, sizes], {"axis": axis}, len(sizes))
  parts = r.int(1, n)
  if -(-n // parts) * (parts - 1) > n: return None
  return Node([x], {"axis": axis, "num_outputs": parts}, parts)


@draws("Pad")
def pad(r, op):
  own, mode, kind = r.shape(1, 4), r.pick(["constant", "reflect", "edge", "wrap"]), r.pick(NUMBERS)
  axes = r.axes(len(own)) if r.chance() else list(range(len(own)))
  low, high = (0, 3) if mode != "wrap" else (0, 9)
  if mode == "constant": low = -1
  if mode == "reflect": own = [n + 3 for n in own] if r.chance(.7) else own
  pads = [r.int(low, high) for _ in range(2 * len(axes))]
  value = np.array(r.int(0, 5), kind) if mode == "constant" and r.chance() else None
  inputs = [r.values(own, kind), np.array(pads, np.int64), value]
  if len(axes) < len(own) or r.chance(.3): inputs.append(np.array(axes, r.pick([np.int64, np.int32])))
  elif axes != list(range(len(own))): return None
  return Node(inputs, {"mode": mode} if mode != "constant" or r.chance() else {})


@draws("CenterCropPad")
def center_crop_pad(r, op):
  own = r.shape(1, 4, 8)
  axes = r.axes(len(own))
  if r.chance(.4): return Node([r.values(own), r.ints(1, 9, len(own))], {})
  return Node([r.values(own), r.ints(1, 9, len(axes))], {"axes": axes})


@draws("DepthToSpace", "SpaceToDepth")
def depth_to_space(r, op):
  b, n, c, h, w = r.int(1, 3), r.int(1, 2), r.int(1, 3), r.int(1, 3), r.int(1, 3)
  if op == "SpaceToDepth": return Node([r.values([n, c, h * b, w * b])], {"blocksize": b})
  return Node([r.values([n, c * b * b, h, w])], {"blocksize": b} | r.some(mode=r.pick(["DCR", "CRD"])))


@draws("ReverseSequence")
def reverse_sequence(r, op):
  own, time = r.shape(2, 4), r.int(0, 1)
  return Node([r.values(own), r.ints(1, own[time], own[1 - time])], {"batch_axis": 1 - time, "time_axis": time})


@draws("Trilu")
def trilu(r, op):
  k = np.array(r.int(-4, 4), np.int64) if r.chance(.7) else None
  return Node([r.values(r.shape(2, 4), r.pick(NUMBERS)), k], r.some(upper=r.int(0, 1)))


@draws("Constant")
def constant(r, op):
  array = r.values(r.shape(0), r.pick(NUMBERS))
  return Node([], r.pick([{"value": numpy_helper.from_array(array)}, {"value_float": r.real(-3, 3)}, {"value_int": r.int(-9, 9)},
                          {"value_floats": [r.real(-3, 3)] * 3}, {"value_ints": [1, r.int(-9, 9)]}, {"value_string": "a"}]))


@draws("ConstantOfShape")
def constant_of_shape(r, op):
  value = numpy_helper.from_array(r.values([1], r.pick(NUMBERS + [np.bool_, np.uint8])))
  return Node([np.array(r.shape(0), np.int64)], r.some(value=value))


@draws("Range")
def range_(r, op):
  kind = r.pick([np.float32, np.float64, np.int16, np.int32, np.int64])
  return Node([np.array(v, kind) for v in (r.int(-5, 5), r.int(-9, 12), r.pick([1, 2, -1, -3, 3]))], {})


@draws("EyeLike")
def eye_like(r, op):
  return Node([r.values([r.int(1, 5), r.int(1, 5)], r.pick(NUMBERS))], r.some(dtype=r.pick(CAST[:8]), k=r.int(-4, 4)))


@draws("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL1", "ReduceL2",
       "ReduceLogSum", "ReduceLogSumExp")
def reduce(r, op):
  own = r.shape()
  x = r.values(own, r.pick(FLOATS + ([np.int32, np.int64] if "Log" not in op and op not in ("ReduceMean", "ReduceL2") else [])),
               .2 if op == "ReduceLogSum" else -2, 2)
  if op in ("ReduceMax", "ReduceMin") and r.chance(.2): x = r.values(own, r.pick([np.int8, np.uint8, np.bool_]))
  if x.dtype.kind == "f" and r.chance(.25): x = (x * r.pick([100, 1e4, 1e30 if x.dtype != np.float16 else 100])).astype(x.dtype)
  axes = r.pick([None, np.array([], np.int64), *[np.array(r.axes(len(own)), np.int64)] * 4])
  return Node([r.special(x, .1), axes], r.some(keepdims=r.int(0, 1), noop_with_empty_axes=r.int(0, 1)))


@draws("ArgMax", "ArgMin")
def arg(r, op):
  own = r.shape()
  x = r.values(own, r.pick(NUMBERS + [np.uint8, np.int8]))
  return Node([np.round(x).astype(x.dtype)], r.some(axis=r.axis(len(own)), keepdims=r.int(0, 1), select_last_index=r.int(0, 1)))


@draws("Softmax", "LogSoftmax", "Hardmax")
def softmax(r, op):
  own = r.shape()
  return Node([r.values(own, r.pick(FLOATS)) * r.pick([1, 1, 100])], r.some(axis=r.axis(len(own))))


@draws("CumSum")
def cum_sum(r, op):
  own = r.shape()
  axis = np.array(r.axis(len(own)), r.pick([np.int32, np.int64]))
  return Node([r.values(own, r.pick([np.float32, np.float64, np.int32, np.int64])), axis if r.chance() else axis], r.some(exclusive=r.int(0, 1), reverse=r.int(0, 1)))


@draws("TopK")
def top_k(r, op):
  own = r.shape(1, 3, 7)
  axis = r.axis(len(own))
  kind = r.pick(NUMBERS)
  x = r.g.permutation(math.prod(own)).reshape(own).astype(kind) if r.chance(.7) else r.values(own, kind).round().astype(kind)
  return Node([x, np.array([r.int(1, own[axis])], np.int64)], {"axis": axis} | r.some(largest=r.int(0, 1), sorted=1), 2)


@draws("OneHot")
def one_hot(r, op):
  own, depth = r.shape(1, 3), r.int(1, 6)
  kind = r.pick([np.float32, np.int32, np.int64])
  return Node([r.ints(-depth, depth - 1, own, r.pick([np.int64, np.int32, np.float32])), r.pick([np.array(depth, np.int64), np.array([depth], np.float32)]),
               r.values([2], kind)], r.some(axis=r.int(-len(own) - 1, len(own))))


@draws("NonZero")
def non_zero(r, op): return Node([np.round(r.values(r.shape(1), r.pick(NUMBERS + [np.bool_]), -1, 1).astype(np.float64)).astype(r.pick([np.float32, np.int32, np.bool_]))], {})


@draws("Compress")
def compress(r, op):
  own = r.shape()
  axis = r.axis(len(own))
  if r.chance(.3): return Node([r.values(own), r.bools(r.int(1, math.prod(own)))], {})
  return Node([r.values(own), r.bools(r.int(1, own[axis]))], {"axis": axis})


@draws("Unique")
def unique(r, op):
  own = r.shape(1, 3)
  x = np.round(r.values(own, np.float32)).astype(r.pick([np.float32, np.int64]))
  return Node([x], r.some(sorted=r.int(0, 1)) | (r.some(axis=r.axis(len(own)))), r.int(1, 4))
