"""Draws nodes of the ops of layers, products, indexing, images, quantization, signals, text, control flow, sequences
and random values, for onnx_draws.py. Comments call onnx's ReferenceEvaluator "the evaluator"."""
import math

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx_draws import FLOATS, INTS, NUMBERS, Node, draws


def windows(r, spatial, most=3, pads=True):
  """Returns the sizes and other attributes of sliding windows that fit into `spatial`."""
  n, out = len(spatial), {}
  kernel = [r.int(1, min(most, s)) for s in spatial]
  if r.chance(.6): out["strides"] = [r.int(1, 3) for _ in range(n)]
  if r.chance(.4): out["dilations"] = [r.int(1, 2) if (k - 1) * 2 < s else 1 for k, s in zip(kernel, spatial)]
  if pads and r.chance(.6): out["pads"] = [r.int(0, kernel[i % n] - 1) for i in range(2 * n)]
  elif r.chance(.4):
    out["auto_pad"] = r.pick(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, out.get("dilations", [1] * n))]
    if "strides" in out and out["auto_pad"][0] == "S": out["strides"] = [min(s, r) for s, r in zip(out["strides"], reach)]  # no negative pads
  return kernel, out


@draws("Conv", "ConvInteger", "QLinearConv", "ConvTranspose")
def conv(r, op):
  spatial, group = [r.int(3, 7) for _ in range(r.pick([1, 2, 2, 3]))], r.pick([1, 1, 2, 3])
  kernel, attributes = windows(r, spatial)
  if group > 1: attributes["group"] = group
  if r.chance(.7): attributes["kernel_shape"] = kernel
  n, cin, cout = r.int(1, 2), group * r.int(1, 2), group * r.int(1, 2)
  if op == "ConvTranspose":
    stride, how = attributes.get("strides", [1] * len(kernel)), r.int(0, 3)
    if how == 1: attributes["output_padding"] = [r.int(0, s - 1) for s in stride]
    if how == 2 and "pads" not in attributes: attributes["output_shape"] = [s * t + r.int(0, 1) for s, t in zip(spatial, stride)]
    inputs = [r.values([n, cin, *spatial]), r.values([cin, cout // group, *kernel])] + ([r.values([cout])] if r.chance() else [])
    return Node(inputs, attributes)
  x, w = [n, cin, *spatial], [cout, cin // group, *kernel]
  if op == "Conv":
    kind = r.pick(FLOATS)
    # no negative values: sums then cancel nothing
    if kind == np.float16: return Node([r.values(x, kind, 0), r.values(w, kind, 0)], attributes)
    return Node([r.values(x, kind), r.values(w, kind)] + ([r.values([cout], kind)] if r.chance() else []), attributes)
  kind, other = r.pick([np.uint8, np.int8]), r.pick([np.uint8, np.int8]) if op == "QLinearConv" else np.uint8
  if op == "ConvInteger":
    zeros = r.pick([[], [np.array(r.int(0, 9), np.uint8)], [np.array(r.int(0, 9), np.uint8), np.array(r.int(0, 9), np.uint8)]])
    return Node([r.values(x, np.uint8, 0), r.values(w, np.uint8, 0)] + zeros, attributes)
  scale, zero = scales(r, kind == other == np.uint8 and len(spatial) == 2), lambda k, *s: r.ints(0, 9, s, k)
  per = [cout] if len(spatial) == 2 and r.chance() else []  # the evaluator has no other scales per channel
  bias = [r.ints(-9, 9, [cout], np.int32)] if r.chance() else []
  even = zero(kind) // 2 * 2  # the evaluator rounds after it adds the zero point, onnxruntime before
  return Node([r.values(x, kind), scale(), zero(kind), r.values(w, other), scale(*per), zero(other, *per), scale(), even.astype(kind)] + bias, attributes)


def scales(r, decimal=True):
  """Returns a function of a shape that draws scales. Some make quotients halfway between two integers; with `decimal`,
  some are decimal fractions, which the evaluator multiplies in double precision, unlike onnxruntime and tgc."""
  choices = r.pick([None, [.25, .5, 1, 2], [.1, .2, .3, .05] if decimal else None])
  return lambda *shape: r.values(shape, np.float32, .1, .9) if choices is None else r.g.choice(choices, shape).astype(np.float32)


@draws("AveragePool", "MaxPool", "LpPool")
def pool(r, op):
  spatial = [r.int(3, 8) for _ in range(r.pick([1, 2, 2, 3]))]
  kernel, attributes = windows(r, spatial)
  attributes |= {"kernel_shape": kernel} | r.some(ceil_mode=r.int(0, 1))
  if op == "AveragePool": attributes |= r.some(count_include_pad=r.int(0, 1))
  if op == "LpPool": attributes |= r.some(p=r.int(1, 3))
  if op == "MaxPool": attributes |= r.some(storage_order=r.int(0, 1))
  return Node([r.values([r.int(1, 2), r.int(1, 3), *spatial])], attributes, r.int(1, 2) if op == "MaxPool" else 1)


@draws("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(r, op):
  return Node([r.values([r.int(1, 2), r.int(1, 3)] + r.shape(1, 3))], r.some(p=r.int(1, 3)) if op == "GlobalLpPool" else {})


@draws("MaxUnpool")
def max_unpool(r, op):
  n, c, h, w, k = 1, r.int(1, 2), r.int(2, 3), r.int(2, 3), 2
  base = np.arange(h * w).reshape(h, w)
  at = (base // w * k + r.int(0, 1)) * (w * k) + base % w * k + r.int(0, 1)
  at = np.stack([at + i * h * w * k * k for i in range(n * c)]).reshape(n, c, h, w)
  shape = [np.array([n, c, h * k + r.int(0, 2), w * k + r.int(0, 2)], np.int64)] if r.chance() else []
  return Node([r.values([n, c, h, w]), at.astype(np.int64)] + shape, {"kernel_shape": [k, k], "strides": [k, k]})


@draws("DeformConv")
def deform_conv(r, op):
  kernel, group, og = [r.int(1, 2), r.int(1, 3)], r.int(1, 2), r.int(1, 2)
  cin, cout, stride, dilation, pads = 2 * group, group * r.int(1, 2), [r.int(1, 2)] * 2, [r.int(1, 2)] * 2, [r.int(0, 1)] * 4
  h, w = r.int(4, 5), r.int(4, 6)
  out = [(s + 2 * pads[0] - d * (k - 1) - 1) // t + 1 for s, k, d, t in zip((h, w), kernel, dilation, stride)]
  if min(out) < 1: return None
  places = math.prod(kernel) * og
  inputs = [r.values([1, cin, h, w]), r.values([cout, cin // group, *kernel]), r.values([1, 2 * places, *out], low=-1, high=1)]
  inputs += r.pick([[], [r.values([cout])], [None, r.values([1, places, *out])], [r.values([cout]), r.values([1, places, *out])]])
  attributes = {"strides": stride, "dilations": dilation, "pads": pads} | r.some(kernel_shape=kernel)
  return Node(inputs, attributes | {"group": group, "offset_group": og})


@draws("Col2Im")
def col2im(r, op):
  n = r.int(1, 3)
  image, block = [r.int(3, 6) for _ in range(n)], [r.int(1, 3) for _ in range(n)]
  attributes = r.some(strides=[r.int(1, 2) for _ in range(n)], dilations=[r.int(1, 2 if b < 2 else 1) for b in block], pads=[r.int(0, 1) for _ in range(2 * n)])
  s, d, p = attributes.get("strides", [1] * n), attributes.get("dilations", [1] * n), attributes.get("pads", [0] * 2 * n)
  blocks = [(image[i] + p[i] + p[i + n] - d[i] * (block[i] - 1) - 1) // s[i] + 1 for i in range(n)]
  x = r.values([r.int(1, 2), r.int(1, 2) * math.prod(block), math.prod(blocks)])
  return Node([x, np.array(image, np.int64), np.array(block, np.int64)], attributes)


@draws("MatMul", "MatMulInteger", "QLinearMatMul")
def matmul(r, op):
  m, k, n, batch = r.int(1, 4), r.int(1, 4), r.int(1, 4), r.pick([[], [], [2], [3, 2]])
  a, b = batch + [m, k], (batch if r.chance() else batch[1:]) + [k, n]
  if op == "MatMul":
    kind = r.pick(FLOATS + [np.int32, np.int64])
    if r.chance(.2): a, b = r.pick([([k], b), (a, [k]), ([k], [k])])
    low = 0 if kind == np.float16 else -3  # no negative values: sums then cancel nothing
    return Node([r.values(a, kind, low), r.values(b, kind, low)], {})
  kinds = [r.pick([np.uint8, np.int8]) for _ in range(3)]
  x, y = r.values(a, kinds[0]), r.values(b, kinds[1])
  zero = lambda kind, *shape: r.ints(0, 9, shape, kind)
  if op == "MatMulInteger":
    return Node([x, y] + r.pick([[], [zero(kinds[0])], [zero(kinds[0]), zero(kinds[1])], [zero(kinds[0]), zero(kinds[1], n)]]), {})
  scale = scales(r, False)
  return Node([x, scale(), zero(kinds[0]), y, scale(), zero(kinds[1]), scale(), (zero(kinds[2]) // 2 * 2).astype(kinds[2])], {})


@draws("Gemm")
def gemm(r, op):
  m, k, n, ta, tb = r.int(1, 4), r.int(1, 4), r.int(1, 4), r.int(0, 1), r.int(0, 1)
  kind = r.pick(FLOATS)
  low = 0 if kind == np.float16 else -3  # no negative values: sums then cancel nothing
  c = [r.values(r.pick([[m, n], [n], [1], [], [m, 1]]), kind, low)] if r.chance(.7) else []
  return Node([r.values([k, m] if ta else [m, k], kind, low), r.values([n, k] if tb else [k, n], kind, low)] + c,
              {"transA": ta, "transB": tb} | r.some(alpha=r.real(.1, 2), beta=r.real(.1, 2)))


@draws("Einsum")
def einsum(r, op):
  size = {c: r.int(1, 4) for c in "ijkb"}
  text = r.pick(["ij->ji", "ij,jk->ik", "bij,bjk->bik", "ii->i", "ij->", "ij,ij", "...ij->...ji", "b...,b...->...", "i,j->ij", "bij,bij->b", "ij -> i"])
  shapes = [[s for c in part for s in ([2] if c == "." else [size[c]])] for part in text.split("->")[0].replace("...", ".").replace(" ", "").split(",")]
  return Node([r.values(s, r.pick([np.float32, np.float64]) if len(shapes) == 1 else np.float32) for s in shapes], {"equation": text})


@draws("Det")
def det(r, op): return Node([r.values([*r.shape(0, 2, 3), n := r.int(1, 4), n])], {})


@draws("BatchNormalization", "InstanceNormalization", "GroupNormalization")
def normalization(r, op):
  c, groups = r.pick([2, 4, 6]), r.pick([1, 2])
  x = r.values([r.int(1, 3), c] + r.shape(1, 3))
  attributes = r.some(epsilon=r.pick([1e-5, 1e-3, .1]))
  vectors = [r.values([c], low=.2, high=2) for _ in range(4 if op[0] == "B" else 2)]
  if op[0] == "G": attributes["num_groups"] = groups
  if op[0] == "B": attributes |= r.some(momentum=r.real(.1, .9)) | r.pick([{}, {"training_mode": 0}, {"training_mode": 1}])
  return Node([x] + vectors, attributes, 3 if attributes.get("training_mode") else 1)


@draws("LayerNormalization", "RMSNormalization")
def layer_norm(r, op):
  own = r.shape(2, 4)
  axis, kind = r.axis(len(own)), r.pick([np.float32, np.float32, np.float16, np.float64])
  part = own[axis:] if r.chance(.7) else own[-1:]
  bias = [r.values(part, kind)] if op[0] == "L" and r.chance() else []
  attributes = {"axis": axis} | r.some(epsilon=r.pick([1e-5, 1e-3]), stash_type=1)
  return Node([r.values(own, kind), r.values(part, kind)] + bias, attributes, r.pick([1, 3]) if op[0] == "L" and kind == np.float32 else 1)


@draws("LRN")
def lrn(r, op):
  n = r.int(1, 7)  # the evaluator takes the batch for the channels
  x = r.values([n, n, r.int(1, 3), r.int(1, 3)], r.pick([np.float32, np.float32, np.float16]))
  return Node([x], {"size": r.int(1, 8)} | r.some(alpha=r.real(1e-4, 1), beta=r.real(.3, 1), bias=r.real(.5, 2)))


@draws("MeanVarianceNormalization", "LpNormalization")
def other_norm(r, op):
  n = r.int(2, 3)
  x = r.values([n, n, r.int(2, 3), r.int(2, 3)])
  if op[0] == "M": return Node([x], r.some(axes=sorted(a % 4 for a in r.axes(4))))
  return Node([x], r.some(axis=r.axis(4), p=r.int(1, 2)))


@draws("Dropout")
def dropout(r, op):
  ratio, training = r.pick([None, np.array(r.real(.1, .9), np.float32)]), r.pick([None, np.array(False), np.array(True)])
  return Node([r.values(r.shape()), ratio, training], {"seed": r.int(0, 99)}, r.int(1, 2), random=bool(training))


@draws("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(r, op):
  n, c, rest = r.int(1, 3), r.int(2, 5), r.pick([[], [], [2], [2, 3]])
  labels = r.ints(0, c - 1, [n] + rest, r.pick([np.int64, np.int32]))
  attributes = r.some(reduction=r.pick(["none", "sum", "mean"])) | (r.some(ignore_index=r.pick([0, 1, -1])))
  if attributes.get("ignore_index") == -1: labels.flat[0] = -1
  return Node([r.values([n, c] + rest), labels] + ([r.values([c], low=.1)] if r.chance() else []), attributes, r.int(1, 2) if op[0] == "S" else 1)


@draws("Attention")
def attention(r, op):
  b, kv, times, q, k, size, vsize = r.int(1, 2), r.int(1, 2), r.int(1, 2), r.int(1, 4), r.int(1, 5), r.pick([2, 4]), r.pick([2, 3])
  heads, kind, past = kv * times, r.pick([np.float32, np.float32, np.float16]), r.pick([0, 0, 2])
  attributes = r.some(scale=r.real(.1, 1), is_causal=r.int(0, 1)) | r.pick([{}, {"softcap": r.real(.5, 3)}])
  attributes |= r.pick([{}, {"softmax_precision": 1}])
  if r.chance():
    inputs = [r.values([b, n, h * s], kind) for n, h, s in ((q, heads, size), (k, kv, size), (k, kv, vsize))]
    attributes |= {"q_num_heads": heads, "kv_num_heads": kv}
  else: inputs = [r.values([b, h, n, s], kind) for n, h, s in ((q, heads, size), (k, kv, size), (k, kv, vsize))]
  shape = r.pick([[q, k + past], [1, q, k + past], [b, 1, q, k + past], [b, heads, q, k + past]])
  mask = r.pick([None, r.values(shape, kind), r.bools(*shape)])
  if mask is not None and mask.dtype == np.bool_: mask[..., 0] = True
  inputs.append(mask)
  if past: inputs += [r.values([b, kv, past, size], kind), r.values([b, kv, past, vsize], kind)]
  outputs = r.pick([1, 3, 4]) if past else 1
  if outputs == 4: attributes["qk_matmul_output_mode"] = r.int(0, 3)
  return Node(inputs, attributes, outputs)


@draws("RotaryEmbedding")
def rotary(r, op):
  b, heads, n, size = r.int(1, 2), r.int(1, 3), r.int(1, 4), r.pick([4, 8])
  part, three, ids = r.pick([0, 4]), r.chance(), r.chance()
  cache = [9 if ids else b] + ([] if ids else [n]) + [(part or size) // 2]
  attributes = r.some(interleaved=r.int(0, 1)) | ({"rotary_embedding_dim": part} if part else {}) | ({"num_heads": heads} if three else {})
  x = r.values([b, n, heads * size] if three else [b, heads, n, size])
  return Node([x, r.values(cache), r.values(cache)] + ([r.ints(0, 8, [b, n])] if ids else []), attributes)


ACTIVATIONS = {  # activation: "a" if it has an alpha, "b" if it has a beta
  "Tanh": "", "Sigmoid": "", "Relu": "", "Softsign": "", "Softplus": "", "HardSigmoid": "ab", "ScaledTanh": "ab", "Affine": "ab",
  "LeakyRelu": "a", "ThresholdedRelu": "a", "Elu": "a"}


def activations(r, n):
  """Returns n activations and their parameters, sometimes without some that have defaults."""
  names = [r.pick(list(ACTIVATIONS)) for _ in range(n)]
  out = {"activations": names}
  for key, letter in (("activation_alpha", "a"), ("activation_beta", "b")):
    count = sum(letter in ACTIVATIONS[name] for name in names)
    # in onnxruntime, some parameters have no defaults, or others than in the ops of the same names
    if count: out[key] = [r.real(.1, 1) for _ in range(count)]
  if not {"ScaledTanh", "Affine", "ThresholdedRelu"} & set(names) and r.chance(.3): out.pop(r.pick(["activation_alpha", "activation_beta"]), None)
  return out


@draws("RNN", "GRU", "LSTM")
def recurrent(r, op):
  gates, direction = {"RNN": 1, "GRU": 3, "LSTM": 4}[op], r.pick(["forward", "reverse", "bidirectional"])
  d, steps, batch, size, hidden = 1 + (direction[0] == "b"), r.int(1, 3), r.int(1, 2), r.int(1, 3), r.int(1, 3)
  layout = r.pick([0, 0, 1])
  flip = (lambda t: np.ascontiguousarray(t.swapaxes(0, 1))) if layout else (lambda t: t)
  inputs = [flip(r.values([steps, batch, size])), r.values([d, gates * hidden, size], low=-1, high=1), r.values([d, gates * hidden, hidden], low=-1, high=1)]
  inputs.append(r.values([d, 2 * gates * hidden], low=-1, high=1) if r.chance() else None)
  plain = layout == 1 or r.chance(.6)  # only what both reference implementations support
  inputs.append(None if plain else r.ints(1, steps, [batch], np.int32))
  states = 2 if op == "LSTM" else 1
  if r.chance(): inputs += [flip(r.values([d, batch, hidden])) for _ in range(states)]
  if op == "LSTM" and len(inputs) == 7 and r.chance(.4): inputs.append(r.values([d, 3 * hidden]))
  attributes = {"hidden_size": hidden, "layout": layout, "direction": direction} | ({} if plain else r.some(clip=r.real(.5, 2)))
  if op == "GRU": attributes |= r.some(linear_before_reset=r.int(0, 1))
  if op == "LSTM" and not plain: attributes |= r.pick([{}, {"input_forget": 0}, {"input_forget": 1}])
  if not plain and r.chance(): attributes |= activations(r, d * {"RNN": 1, "GRU": 2, "LSTM": 3}[op])
  return Node(inputs, attributes, 1 + states)


@draws("Gather")
def gather(r, op):
  own = r.shape()
  axis = r.axis(len(own))
  return Node([r.values(own, r.pick(NUMBERS)), r.ints(-own[axis], own[axis] - 1, r.shape(0, 3, 4), r.pick([np.int64, np.int32]))], {"axis": axis} if axis or r.chance() else {})


@draws("GatherElements", "ScatterElements")
def elements(r, op):
  own = r.shape(1, 3)
  axis, kind = r.axis(len(own)), r.pick(NUMBERS)
  at = [r.int(1, n) for n in own]
  if op == "GatherElements": at[axis] = r.int(1, 6)
  indices = r.ints(-own[axis], own[axis] - 1, at, r.pick([np.int64, np.int32]))
  if op == "GatherElements": return Node([r.values(own, kind), indices], {"axis": axis})
  if kind == np.float16: kind = np.float32
  reduction = r.pick(["none", "add", "mul", "max", "min"])
  if reduction == "none": indices = np.argsort(r.g.random(at), axis).astype(indices.dtype)
  return Node([r.values(own, kind), indices, r.values(at, kind)], {"axis": axis, "reduction": reduction})


@draws("GatherND", "ScatterND")
def nd(r, op):
  own, kind = r.shape(2, 4, 4), r.pick([np.float32, np.float64, np.int32, np.int64])
  batch = r.int(0, 1) if op == "GatherND" else 0
  depth = r.int(1, len(own) - batch)
  lead = own[:batch] + r.shape(1, 2, 3)
  indices = np.stack([r.ints(-own[batch + i], own[batch + i] - 1, lead) for i in range(depth)], -1)
  if op == "GatherND": return Node([r.values(own, kind), indices], {"batch_dims": batch})
  reduction = r.pick(["none", "add", "mul", "max", "min"])
  if reduction == "none":
    all_ = np.stack(np.unravel_index(r.g.permutation(math.prod(own[:depth])), own[:depth]), -1)
    indices = all_[: r.int(1, len(all_))].astype(np.int64)
  return Node([r.values(own, kind), indices, r.values([*indices.shape[:-1], *own[depth:]], kind)], {"reduction": reduction})


@draws("Resize")
def resize(r, op):
  rank = r.pick([1, 2, 3, 4, 4])
  own = [r.int(1, 2) if i < rank - 2 else r.int(2, 7) for i in range(rank)]
  mode = r.pick(["nearest", "linear", "cubic"])
  axes = list(range(rank)) if r.chance() else list(range(max(0, rank - 2), rank))
  to = [own[a] if own[a] == 1 or (a < rank - 2) else r.int(1, 9) for a in axes]
  how = r.pick(["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"])
  attributes = {"mode": mode, "coordinate_transformation_mode": how} | r.some(nearest_mode=r.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]))
  if mode == "cubic": attributes |= r.some(cubic_coeff_a=r.pick([-.5, -.75]), exclude_outside=r.int(0, 1))
  if mode != "nearest" and how != "tf_crop_and_resize" and r.chance(.4): attributes["antialias"] = 1
  if how == "tf_crop_and_resize": attributes |= r.some(extrapolation_value=r.real(-2, 2))
  if axes != list(range(rank)) or r.chance(.2): attributes["axes"] = axes
  roi = None
  if how == "tf_crop_and_resize":
    begin = [r.real(0, .4) for _ in axes]
    roi = np.array(begin + [b + r.real(.3, .8) for b in begin], np.float32)
  if r.chance():
    if r.chance(.4) and roi is None: attributes["keep_aspect_ratio_policy"] = r.pick(["stretch", "not_larger", "not_smaller"])
    return Node([r.values(own), roi, None, np.array(to, np.int64)], attributes)
  scales = [1.0 if t == own[a] else r.pick([t / own[a] + 1e-3, r.real(.4, 2.5)]) for t, a in zip(to, axes)]
  scales = [s if int(s * own[a]) > 0 else 1.0 for s, a in zip(scales, axes)]
  return Node([r.values(own), roi, np.array(scales, np.float32)], attributes)


@draws("GridSample")
def grid_sample(r, op):
  n = r.pick([1, 2, 2, 3])
  own, out = [r.int(2, 5) for _ in range(n)], [r.int(1, 4) for _ in range(n)]
  attributes = r.some(mode=r.pick(["linear", "nearest", "cubic"]), padding_mode=r.pick(["zeros", "border", "reflection"]), align_corners=r.int(0, 1))
  return Node([r.values([b := r.int(1, 2), r.int(1, 2), *own]), r.values([b, *out, n], low=-1.3, high=1.3)], attributes)


@draws("AffineGrid")
def affine_grid(r, op):
  n, b = r.int(2, 3), r.int(1, 2)
  size = [b, r.int(1, 3)] + [r.int(1, 4) for _ in range(n)]
  return Node([r.values([b, n, n + 1]), np.array(size, np.int64)], r.some(align_corners=r.int(0, 1)))


@draws("RoiAlign")
def roi_align(r, op):
  n, rois = r.int(1, 2), r.int(1, 3)
  corner, size = r.values([rois, 2], low=0, high=4), r.values([rois, 2], low=1, high=6)
  attributes = r.some(output_height=r.int(1, 3), output_width=r.int(1, 3), sampling_ratio=r.int(0, 3), spatial_scale=r.real(.5, 1.5),
                      mode=r.pick(["avg", "max"]), coordinate_transformation_mode=r.pick(["half_pixel", "output_half_pixel"]))
  return Node([r.values([n, 2, 8, 8], low=0), np.concatenate([corner, corner + size], 1), r.ints(0, n - 1, [rois])], attributes)


@draws("MaxRoiPool")
def max_roi_pool(r, op):
  n, rois = r.int(1, 2), r.int(1, 3)
  corner, size = r.values([rois, 2], low=0, high=4), r.values([rois, 2], low=0, high=6)
  boxes = np.concatenate([r.ints(0, n - 1, [rois, 1]).astype(np.float32), corner, corner + size], 1)
  if r.chance(.3): boxes = np.round(boxes)
  return Node([r.values([n, r.int(1, 3), r.int(5, 9), r.int(5, 9)]), boxes], {"pooled_shape": [r.int(1, 3), r.int(1, 4)]} | r.some(spatial_scale=r.pick([.5, .7, 1.2])))


@draws("NonMaxSuppression")
def nms(r, op):
  n, batch, classes = r.int(2, 6), r.int(1, 2), r.int(1, 2)
  boxes = r.values([batch, n, 4], low=0, high=2)
  scores = (r.g.permutation(batch * classes * n).reshape(batch, classes, n) / 10).astype(np.float32)
  limits = [np.array([r.int(1, 4)], np.int64), np.array([r.real(0, .7)], np.float32), np.array([r.real(0, .4)], np.float32)]
  return Node([boxes, scores] + limits[: r.int(1, 3)], r.some(center_point_box=r.int(0, 1)))


@draws("ImageDecoder")
def image_decoder(r, op):
  return Node([np.frombuffer(b"P5 2 1 255\n\x01\x02", np.uint8)], {"pixel_format": r.pick(["RGB", "BGR", "Grayscale"])})


def narrow(r):
  return helper.tensor_dtype_to_np_dtype(r.pick([TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16, TensorProto.INT4,
                                                 TensorProto.UINT4, TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.INT32]))


@draws("QuantizeLinear", "DequantizeLinear")
def quantize(r, op):
  own, kind = r.shape(2, 3, 6), narrow(r)
  if op[0] == "Q" and kind == np.int32: kind = np.dtype(np.int8)
  axis, how = r.axis(len(own)), r.int(0, 2)
  block = r.int(1, 3)
  shape = [[], [own[axis]], [n if i != axis % len(own) else -(-n // block) for i, n in enumerate(own)]][how]
  attributes = {"axis": axis} if how or r.chance() else {}
  if how == 2: attributes["block_size"] = block
  scale, whole = r.values(shape, r.pick([np.float32, np.float32, np.float16]), .1, 2), kind.name.startswith(("int", "uint"))
  low = -4 if kind.name.startswith("int") else 0
  zero = r.pick([None, r.ints(low, 5, shape).astype(kind) if whole else np.zeros(shape, kind)])
  if kind == np.int32 or (how == 0 and r.chance(.3)): zero = None
  if op[0] == "D":
    x = r.ints(low * 2, 7, own).astype(kind) if whole else r.values(own).astype(kind)
    return Node([x, scale, zero], attributes | r.pick([{}, {}, {"output_dtype": r.pick([1, 10])}]))
  if zero is None: attributes |= {"output_dtype": helper.np_dtype_to_tensor_dtype(kind)} if kind != np.uint8 else {}
  x = r.values(own, scale.dtype, -9, 9)
  if r.chance(.3): x, scale = np.round(x).astype(x.dtype), np.full(shape, 2, scale.dtype)
  return Node([x, scale, zero], attributes)


@draws("DynamicQuantizeLinear")
def dynamic_quantize(r, op):
  low, high = r.pick([(-3, 3), (.5, 3), (-3, -.5)])
  x = r.values(r.shape(), low=low, high=high)
  low = r.pick([-127.5, -100.5, 0, -255, -.5])
  if r.chance(.4): x = np.append(r.ints(0, 60, [6]) * .5 - 10, [low, low + 255]).astype(np.float32)  # quotients halfway between integers
  return Node([np.full_like(x, r.pick([0, 2, -3])) if r.chance(.1) else x], {}, 3)


@draws("HannWindow", "HammingWindow", "BlackmanWindow")
def window(r, op): return Node([np.array(r.int(1, 12), r.pick([np.int32, np.int64]))], r.some(periodic=r.int(0, 1), output_datatype=r.pick([1, 10, 11])))


@draws("DFT")
def dft(r, op):
  own = r.shape(2, 3, 6) + [r.int(1, 2)]
  axis = r.int(-len(own), -2)
  attributes = r.some(inverse=r.int(0, 1)) | r.pick([{}, {"onesided": 1}])
  if attributes.get("onesided"): own[-1] = 2 if attributes.get("inverse") else 1
  length = r.pick([None, np.array(r.int(1, 7), np.int64)])
  return Node([r.values(own), length, np.array(axis, np.int64)] if axis != -2 or r.chance() else [r.values(own), length], attributes)


@draws("STFT")
def stft(r, op):
  length, frame = r.int(6, 20), r.int(2, 6)
  x, step = r.values([r.int(1, 2), length, 1], low=-1, high=1), np.array(r.int(1, 4), np.int64)
  window, size = r.values([frame], low=0, high=1), np.array(frame, np.int64)
  return Node([x, step] + r.pick([[window], [None, size], [window, size]]), r.some(onesided=r.int(0, 1)))


@draws("MelWeightMatrix")
def mel(r, op):
  return Node([np.array(v, t) for v, t in ((r.int(1, 6), np.int64), (r.int(8, 32), np.int64), (r.pick([4000, 8192]), np.int64),
                                           (float(r.int(0, 50)), np.float32), (float(r.int(500, 2000)), np.float32))], r.some(output_datatype=r.pick([1, 11])))


def words(r, shape): return np.array([r.pick(["a", "bc d", "Ab", "x,y,,z", "", "é", "a1b2"]) for _ in range(math.prod(shape))], object).reshape(shape)


@draws("StringConcat")
def string_concat(r, op):
  own = r.shape(0, 3, 3)
  return Node([words(r, own), words(r, r.pick([own, own[-1:], []]))], {})


@draws("StringSplit")
def string_split(r, op): return Node([words(r, r.shape(1, 2, 3))], r.some(delimiter=r.pick([",", " ", "", "b"]), maxsplit=r.int(0, 2)), 2)


@draws("RegexFullMatch")
def regex(r, op): return Node([words(r, r.shape(0, 2, 3))], {"pattern": r.pick(["a", "[a-z]+.*", r"\w+", "(a|Ab)?", r".*\d", "[^,]*", ".", "(?:x|,)+y.*", r"\S{1,2}", "[[:alpha:]]+"])})


@draws("StringNormalizer")
def string_normalizer(r, op):
  text = np.array([r.pick(["a", "bc", "Ab", "AB", "b1"]) for _ in range(4)], object).reshape(r.pick([[4], [1, 4]]))
  sensitive = r.int(0, 1)  # the evaluator compares without case only if it changes the case
  change = r.some(case_change_action=r.pick(["LOWER", "UPPER"])) if sensitive else {"case_change_action": r.pick(["LOWER", "UPPER"])}
  return Node([text], change | {"is_case_sensitive": sensitive} | r.some(stopwords=["a", "AB"]))


@draws("TfIdfVectorizer")
def tf_idf(r, op):
  attributes = {"mode": r.pick(["TF", "IDF", "TFIDF"]), "min_gram_length": r.int(1, 2), "max_gram_length": 2, "max_skip_count": r.int(0, 2),
                "ngram_counts": [0, 4], "ngram_indexes": [int(i) for i in r.g.permutation(7)], "pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7]}
  return Node([r.ints(2, 8, r.pick([[9], [2, 6]]), r.pick([np.int32, np.int64]))], attributes | r.some(weights=[r.real(.5, 2) for _ in range(7)]))


def graph(nodes, inputs, outputs):
  info = lambda name: helper.make_tensor_value_info(name.rstrip("!?"), {"!": TensorProto.INT64, "?": TensorProto.BOOL}.get(name[-1], TensorProto.FLOAT), None)
  return helper.make_graph([helper.make_node(op, i, o) for op, i, o in nodes], "body", [info(n) for n in inputs], [info(n) for n in outputs])


@draws("If")
def if_(r, op):
  one = helper.make_node("Constant", [], ["t"], value_floats=[r.real(0, 1)] * 2)
  branch = lambda k: helper.make_graph([one, helper.make_node(k, ["t", "t"], ["out"])], "branch", [], [helper.make_tensor_value_info("out", TensorProto.FLOAT, [2])])
  return Node([np.array(r.chance())], {"then_branch": branch("Add"), "else_branch": branch("Mul")})


@draws("Loop")
def loop(r, op):
  body = graph([("Identity", ["go"], ["still"]), ("Add", ["x", "x"], ["next"]), ("Identity", ["next"], ["seen"])], ["i!", "go?", "x"], ["still?", "next", "seen"])
  return Node([np.array(r.int(1, 4), np.int64), np.array(True), r.values([r.int(1, 3)])], {"body": body}, 2)


@draws("Scan")
def scan(r, op):
  body = graph([("Add", ["s", "x"], ["next"]), ("Mul", ["next", "x"], ["seen"])], ["s", "x"], ["next", "seen"])
  n, axis = r.int(1, 4), r.int(0, 1)
  x = r.values([n, 3] if axis == 0 else [3, n])
  return Node([r.values([3]), x], {"body": body, "num_scan_inputs": 1, "scan_input_axes": [axis]} | r.some(scan_input_directions=[r.int(0, 1)], scan_output_directions=[r.int(0, 1)], scan_output_axes=[r.int(0, 1)]), 2)


@draws("SequenceConstruct")
def sequence_construct(r, op): return Node([r.values(r.shape(1, 2)) for _ in range(r.int(1, 3))], {})


@draws("SequenceEmpty")
def sequence_empty(r, op): return Node([], r.some(dtype=r.pick([1, 6, 7, 11])))



@draws("SequenceAt", "SequenceErase", "SequenceInsert", "SequenceLength", "ConcatFromSequence", "SequenceMap")
def sequence(r, op):
  own = r.shape(1, 3)
  items = [r.values(own) for _ in range(r.int(1, 3))]
  n = len(items)
  position = np.array(r.int(-n, n - 1), np.int64)
  if op == "SequenceAt": return Node([items, position], {})
  if op == "SequenceErase": return Node([items, r.pick([None, position])], {})
  if op == "SequenceInsert": return Node([items, r.values(own), r.pick([None, position])], {})
  if op == "SequenceLength": return Node([items], {})
  if op == "SequenceMap": return Node([items, r.values([1])], {"body": graph([("Add", ["x", "y"], ["z"])], ["x", "y"], ["z"])})
  new = r.int(0, 1)
  return Node([items], {"axis": r.int(-len(own) - new, len(own) - 1 + new)} | ({"new_axis": new} if new or r.chance() else {}))


@draws("Optional", "OptionalHasElement", "OptionalGetElement")
def optional(r, op): return Node([r.values(r.shape())], {})


@draws("Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial")
def random(r, op):
  inputs = [] if op in ("RandomNormal", "RandomUniform") else [r.values([2, 3], low=0, high=1)]
  return Node(inputs, {"seed": float(r.int(1, 9))} | ({"shape": [2, 3]} if not inputs else {}), random=True)


