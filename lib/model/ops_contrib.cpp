#include <cmath>

#include "lib/model/op.h"

namespace tgc {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";

Tensor exact_gelu(const Tensor& x) { return 0.5 * x * (1 + (x / std::sqrt(2.0)).erf()); }

Values fast_gelu(OpCall& c) {
  Tensor x = c.tensor(0);
  return {(c.has_input(1) ? x + c.tensor(1) : x).gelu()};
}

// The fourth output is the sum that is normalized.
Values skip_layer_normalization(OpCall& c) {
  Tensor sum = c.tensor(0) + c.tensor(1);
  if (c.has_input(4)) sum = sum + c.tensor(4);
  Tensor y = sum.layernorm({-1}, c.attribute_float("epsilon", 1e-12)) * c.tensor(2);
  return {c.has_input(3) ? y + c.tensor(3) : y, Value(), Value(), sum};
}

Values embed_layer_normalization(OpCall& c) {
  if (c.has_input(7) || c.attribute_int("mask_index_type", 0)) throw Failure("a mask is not supported");
  Tensor ids = c.tensor(0), words = c.tensor(2), places = c.tensor(3);
  auto rows = [](const Tensor& ids, const Tensor& table) {
    return ids.unsqueeze(-1).one_hot_along_dim(table.size(0)).cast(table.dtype()).matmul(table);
  };
  Tensor positions =
      c.has_input(8) ? c.tensor(8) : Tensor::arange(c.graph(), ids.size(1)).unsqueeze(0).expand(ids.shape());
  Tensor sum = rows(ids, words) + rows(positions, places);
  if (c.has_input(1) != c.has_input(4)) throw Failure("segment ids and their table must be given together");
  if (c.has_input(4)) sum = sum + rows(c.tensor(1), c.tensor(4));
  Tensor y = sum.layernorm({-1}, c.attribute_float("epsilon", 1e-12));
  if (c.has_input(5)) y = y * c.tensor(5);
  if (c.has_input(6)) y = y + c.tensor(6);
  return {y, Value(), sum};
}

// Returns a mask that is true for the keys that attention may use. A vector `mask` has the number of keys of each batch
// element, or the end of each batch element's range of keys, followed by the begin of each.
Tensor key_mask(OpCall& c, const Tensor& mask, int64_t batch, int64_t keys) {
  Tensor out;
  if (mask.ndim() > 1) {
    out = mask.cast(dtypes::bool_);
  } else {
    Tensor at = Tensor::arange(c.graph(), keys).unsqueeze(0);
    if (mask.size(0) == batch) {
      out = at.lt(mask.unsqueeze(1));
    } else if (mask.size(0) == 2 * batch) {
      out = at.lt(mask.slice_axis(0, {0, batch}).unsqueeze(1)) &
            at.ge(mask.slice_axis(0, {batch, 2 * batch}).unsqueeze(1));
    } else {
      throw Failure("a mask of " + std::to_string(mask.size(0)) + " numbers for a batch of " + std::to_string(batch) +
                    " is not supported");
    }
  }
  while (out.ndim() < 4) out = out.unsqueeze(1);
  return out;
}

Values attention(OpCall& c) {
  Tensor x = c.tensor(0), weights = c.tensor(1);
  if (c.attribute_int("do_rotary", 0) || c.has_input(5))
    throw Failure("rotary positions and an attention bias are not supported");
  int64_t heads = c.attribute_int("num_heads"), batch = x.size(0), length = x.size(1);
  Ints sizes = c.attribute_ints("qkv_hidden_sizes", Ints(3, weights.size(1) / 3));
  if (heads < 1 || sizes.size() != 3) throw Failure("its heads or hidden sizes do not fit");
  Tensor qkv = x.matmul(weights);
  if (c.has_input(2)) qkv = qkv + c.tensor(2);
  Tensors parts = qkv.split(sizes, 2);
  for (size_t i = 0; i < 3; i++) parts[i] = parts[i].reshape({batch, length, heads, sizes[i] / heads}).transpose(1, 2);
  Tensor q = parts[0], k = parts[1], v = parts[2], present;
  if (c.has_input(4)) {
    k = c.tensor(4).select(0).cat({k}, 2), v = c.tensor(4).select(1).cat({v}, 2);
    present = Tensor::stack({k, v});
  }
  Tensor scores = q.matmul(k.transpose(-1, -2)) * c.attribute_float("scale", 1.0 / std::sqrt(double(sizes[0] / heads)));
  Const masked = c.attribute_float("mask_filter_value", -10000.0);
  if (c.has_input(3)) scores = key_mask(c, c.tensor(3), batch, k.size(2)).where(scores, masked);
  if (c.attribute_int("unidirectional", 0)) {
    Tensor causal = Tensor::full(c.graph(), {length, k.size(2)}, true, dtypes::bool_).tril(k.size(2) - length);
    scores = causal.where(scores, masked);
  }
  return {scores.softmax(-1).matmul(v).transpose(1, 2).reshape({batch, length, -1}), present};
}

}  // namespace

std::span<const OpDef> contrib_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"Gelu", 1, "", [](OpCall& c) -> Values { return {exact_gelu(c.tensor(0))}; }, kMicrosoft},
    {"BiasGelu", 1, "", [](OpCall& c) -> Values { return {exact_gelu(c.tensor(0) + c.tensor(1))}; }, kMicrosoft},
    {"FastGelu", 1, "", fast_gelu, kMicrosoft},
    {"SkipLayerNormalization", 1, "epsilon", skip_layer_normalization, kMicrosoft},
    {"EmbedLayerNormalization", 1, "epsilon mask_index_type", embed_layer_normalization, kMicrosoft},
    {"Attention", 1, "do_rotary mask_filter_value num_heads past_present_share_buffer qkv_hidden_sizes rotary_embedding_dim scale unidirectional", attention, kMicrosoft},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
