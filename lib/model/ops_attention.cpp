#include <cmath>

#include "lib/model/op.h"

namespace tgc {
namespace {

// Pads the mask to `keys` keys, with false or -inf, which exclude the added keys.
Tensor pad_mask(const Tensor& mask, int64_t keys) {
  int64_t missing = keys - mask.size(-1);
  if (missing < 0 || mask.ndim() > 4) throw Failure("its mask does not fit its keys");
  if (dtypes::is_bool(mask.dtype())) return mask.pad_axis(-1, 0, missing);
  return missing == 0 ? mask : mask.pad_axis(-1, 0, missing, Const(-HUGE_VAL));
}

// Returns a mask that is true for the keys that a query may use, or None if queries may use all keys. Ignores a `mask`
// of numbers.
Tensor attention_mask(OpCall& c, const Tensor& mask, int64_t queries, int64_t keys, int64_t past) {
  Tensor out;
  if (mask && dtypes::is_bool(mask.dtype())) out = pad_mask(mask, keys);
  if (!c.attribute_flag("is_causal", false)) return out;
  Tensor causal = Tensor::full(c.graph(), {queries, keys}, true, dtypes::bool_).tril(past);
  return out ? out & causal : causal;
}

// Returns the matrix product in the dtype of `a`, computed in float32 or a wider dtype.
Tensor wide_matmul(const Tensor& a, const Tensor& b) {
  DType wide = least_upper_dtype({a.dtype(), dtypes::float32});
  return a.cast(wide).matmul(b.cast(wide)).cast(a.dtype());
}

Values attention(OpCall& c) {
  Tensor q = c.tensor(0), k = c.tensor(1), v = c.tensor(2), mask = c.tensor_or_none(3);
  bool flat = q.ndim() == 3;
  int64_t q_heads = c.attribute_int("q_num_heads", 0), kv_heads = c.attribute_int("kv_num_heads", 0);
  if (flat) {
    if (q_heads <= 0 || kv_heads <= 0) throw Failure("inputs of three axes need q_num_heads and kv_num_heads");
    auto heads = [](const Tensor& t, int64_t n) {
      return t.reshape({t.size(0), t.size(1), n, -1}).permute({0, 2, 1, 3});
    };
    q = heads(q, q_heads), k = heads(k, kv_heads), v = heads(v, kv_heads);
  }
  if (c.has_input(4) != c.has_input(5)) throw Failure("past_key and past_value must be given together");
  if (c.has_input(4)) k = c.tensor(4).cat({k}, 2);
  if (c.has_input(5)) v = c.tensor(5).cat({v}, 2);
  Tensor present_key = k, present_value = v;
  if (k.size(1) <= 0 || q.size(1) % k.size(1))
    throw Failure(std::to_string(q.size(1)) + " heads of queries for " + std::to_string(k.size(1)) + " of keys");
  if (q.size(1) != k.size(1)) {
    int64_t times = q.size(1) / k.size(1);
    k = k.repeat_interleave(times, 1), v = v.repeat_interleave(times, 1);
  }
  double scale = c.attribute_float("scale", 1.0 / std::sqrt(double(q.size(-1)))),
         softcap = c.attribute_float("softcap", 0.0);
  int64_t mode = c.attribute_int("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) throw Failure("its qk_matmul_output_mode is " + std::to_string(mode));
  Tensor scores = wide_matmul(q * std::sqrt(scale), k.transpose(-1, -2) * std::sqrt(scale)), shown = scores;
  if (softcap > 0) scores = (scores / softcap).tanh() * softcap;  // must precede the mask, because tanh(-inf) is finite
  if (mode == 1) shown = scores;
  Tensor allowed = attention_mask(c, mask, q.size(-2), k.size(-2), c.has_input(4) ? c.tensor(4).size(2) : 0);
  Tensor bias = !mask || dtypes::is_bool(mask.dtype()) ? Tensor() : pad_mask(mask, k.size(-2));
  if (bias) scores = scores + bias;
  if (allowed) scores = allowed.where(scores, Const(-HUGE_VAL));
  if (mode == 2) shown = scores;
  if (c.op_attribute("softmax_precision")) scores = scores.cast(c.dtype_of(c.attribute_int("softmax_precision")));
  // The probabilities of a query are 0 if no key is allowed.
  if (bias) allowed = allowed ? allowed & bias.ne(Const(-HUGE_VAL)) : bias.ne(Const(-HUGE_VAL));
  Tensor weights = scores.softmax(-1);
  if (allowed)
    weights = allowed.broadcast_to(broadcast_shape({allowed.shape(), scores.shape()}))
                  .any(Ints{-1}, true)
                  .where(weights, Const(0));
  weights = weights.cast(q.dtype());
  if (mode == 3) shown = weights;
  Tensor y = wide_matmul(weights, v);
  if (flat) y = y.permute({0, 2, 1, 3}).reshape({q.size(0), q.size(2), -1});
  return {y, present_key, present_value, shown};
}

// Inputs 1 and 2 have the cosines and sines for each position.
Values rotary_embedding(OpCall& c) {
  Tensor x = c.tensor(0), cos = c.tensor(1), sin = c.tensor(2);
  Ints own = x.shape();
  if (x.ndim() == 3) {
    int64_t heads = c.attribute_int("num_heads", 0);
    if (heads <= 0 || x.size(2) % heads) throw Failure("an input of three axes needs num_heads");
    x = x.reshape({x.size(0), x.size(1), heads, -1});
  } else if (x.ndim() == 4) {
    x = x.transpose(1, 2);
  } else {
    throw Failure("its input has " + std::to_string(x.ndim()) + " axes, three or four are needed");
  }
  int64_t asked = c.attribute_int("rotary_embedding_dim", 0), part = asked ? asked : x.size(3), half = part / 2;
  if (part < 2 || part % 2 || part > x.size(3)) throw Failure("its rotary_embedding_dim is " + std::to_string(part));
  if (c.has_input(3)) cos = cos.getitem({c.tensor(3)}), sin = sin.getitem({c.tensor(3)});
  Ints angles{x.size(0), x.size(1), half};
  if (cos.shape() != angles || sin.shape() != angles) throw Failure("its caches do not fit its input");
  cos = cos.unsqueeze(2), sin = sin.unsqueeze(2);
  Tensor turned = x.slice_axis(3, {0, part}), kept = x.slice_axis(3, {part, x.size(3)});
  bool interleaved = c.attribute_flag("interleaved", false);
  Tensor pairs = turned.unflatten(3, interleaved ? Ints{half, 2} : Ints{2, half});
  int64_t axis = interleaved ? 4 : 3;
  Tensor a = pairs.slice_axis(axis, {0, 1}).squeeze(axis), b = pairs.slice_axis(axis, {1, 2}).squeeze(axis);
  Tensor y = Tensor::stack({cos * a - sin * b, sin * a + cos * b}, axis).flatten(3).cat({kept}, 3);
  return {own.size() == 4 ? y.transpose(1, 2) : y.reshape(own)};
}

}  // namespace

std::span<const OpDef> attention_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"Attention", 23, "is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap softmax_precision", attention},
    {"RotaryEmbedding", 23, "interleaved num_heads rotary_embedding_dim", rotary_embedding},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
