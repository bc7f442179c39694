#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "lib/model/tensor.h"

namespace tgc {
namespace {

// Converts flat padding (last axis first) to (before, after) pairs in axis order.
Padding pair_padding(const Ints& flat) {
  Padding out;
  for (size_t i = flat.size(); i >= 2; i -= 2) out.emplace_back(flat[i - 2], flat[i - 1]);
  return out;
}

// Returns flat padding from flat padding or from one number per axis (tensor.py:_resolve_pool_pads).
Ints resolve_pool_pads(const Ints& padding, size_t dims) {
  if (padding.size() == 2 * dims) return padding;
  if (padding.size() != dims)
    throw Failure("a padding of " + std::to_string(padding.size()) + " numbers for " + std::to_string(dims) + " axes");
  Ints out;
  for (size_t i = dims; i-- > 0;) out.insert(out.end(), {padding[i], padding[i]});
  return out;
}

Ints last_axes(size_t n) { return int_range(-int64_t(n), 0); }

}  // namespace

Ints ceil_mode_pads(const Tensor& x, Ints pads, const Ints& kernel, const Ints& stride, const Ints& dilation) {
  Ints shape = x.shape();
  Padding pairs = pair_padding(pads);
  for (size_t dim = 0; dim < kernel.size(); dim++) {
    int64_t i = shape[shape.size() - kernel.size() + dim], s = stride[dim],
            window = dilation[dim] * (kernel[dim] - 1) + 1;
    auto [before, after] = pairs[dim];
    int64_t out = ceildiv(i + before + after - window, s) + 1;
    pads[pads.size() - 1 - 2 * dim] +=
        s * (out - 1) + window - (i + before + after) - std::max<int64_t>(s * (out - 1) - (before + i - 1), 0);
  }
  return pads;
}

Tensor Tensor::dot(Tensor w) const {
  int64_t dx = ndim(), dw = w.ndim();
  if (dx == 0 || dw == 0) throw Failure("a matrix product with a scalar");
  int64_t inner = -std::min<int64_t>(dw, 2);
  Ints a = shape(), b = w.shape();
  if (a.back() != b[size_t(dw + inner)])
    throw Failure("a matrix product of " + std::to_string(a.back()) + " columns with " +
                  std::to_string(b[size_t(dw + inner)]) + " rows");
  Ints ones(size_t(std::min({dx - 1, dw - 1, int64_t(1)})), 1);
  Tensor x = reshape(concat_ints({Ints(a.begin(), a.end() - 1), ones, {a.back()}}));
  auto split = b.end() + inner;
  w = w.reshape(concat_ints({Ints(b.begin(), b.end() - std::min<int64_t>(dw, 2)), ones, Ints(split, b.end())}))
          .transpose(-1, inner);
  return (x * w).sum(Ints{-1}).cast(least_upper_dtype({x.dtype(), w.dtype()}));
}

Tensor Tensor::conv2d(Tensor weight, Tensor bias, int64_t groups, const Ints& stride, const Ints& dilation,
                      const Ints& padding) const {
  Ints ws = weight.shape(), xs = shape();
  if (xs.size() < 3 || xs.size() != ws.size() || groups <= 0 || groups * ws[1] != xs[1] || ws[0] % groups) {
    throw Failure("a convolution whose input of " + std::to_string(xs.size()) + " axes does not fit its weights, in " +
                  std::to_string(groups) + " groups");
  }
  Ints window(ws.begin() + 2, ws.end());
  auto n = int64_t(window.size());
  int64_t bs = xs[0], cin = ws[1], cout = ws[0], rcout = cout / groups;
  Tensor x = pad_flat(resolve_pool_pads(padding, window.size())).pool(window, stride, dilation);
  Ints ps = x.shape(), out(ps.begin() + 2, ps.begin() + 2 + n), ones(size_t(n), 1);
  x = x.reshape(concat_ints({{bs, groups, cin, 1}, out, window}))
          .expand(concat_ints({{bs, groups, cin, rcout}, out, window}));
  x = x.permute(concat_ints({{0, 1, 3}, int_range(4, 4 + n), {2}, int_range(4 + n, 4 + 2 * n)}));
  Ints axes;
  for (int64_t i = 0; i <= n; i++) axes.push_back(-1 - i);
  Tensor y = (x * weight.reshape(concat_ints({{1, groups, rcout}, ones, {cin}, window})))
                 .sum(axes, true)
                 .reshape(concat_ints({{bs, cout}, out}));
  return bias ? y + bias.reshape(concat_ints({{1, -1}, ones})) : y;
}

Tensor Tensor::conv_transpose2d(Tensor weight, Tensor bias, int64_t groups, const Ints& stride, const Ints& dilation,
                                const Ints& padding, const Ints& output_padding) const {
  Ints ws = weight.shape();
  if (ws.size() < 3 || ws.size() != size_t(ndim()) || groups <= 0 || ws[0] % groups)
    throw Failure("a transposed convolution whose input does not fit its weights");
  Tensor x = *this, w = weight.unflatten(0, {groups, -1}).transpose(1, 2).flip(int_range(3, int64_t(ws.size()) + 1));
  Ints window(ws.begin() + 2, ws.end());
  Padding pads = pair_padding(resolve_pool_pads(padding, window.size()));
  if (std::any_of(stride.begin(), stride.end(), [](int64_t s) { return s > 1; })) {
    Ints xs = x.shape(), lead(xs.begin(), xs.begin() + 2), split = lead, joined = lead;
    Padding between(2);
    std::vector<std::optional<int64_t>> kept(2);
    for (size_t i = 0; i < window.size(); i++) {
      int64_t k = xs[i + 2], s = stride[i];
      split.insert(split.end(), {k, 1});
      between.insert(between.end(), {{0, 0}, {0, s - 1}});
      joined.push_back(k * s);
      kept.push_back(k * s - (s - 1));
    }
    x = x.reshape(split).pad(between).reshape(joined).shrink_to(kept);
  }
  Ints flat;
  for (size_t i = window.size(); i-- > 0;) {
    int64_t reach = (window[i] - 1) * dilation[i];
    flat.insert(flat.end(), {reach - pads[i].first, reach - pads[i].second + output_padding[i]});
  }
  return x.conv2d(w.flatten(0, 1), bias, groups, Ints(window.size(), 1), dilation, flat);
}

Tensor Tensor::avg_pool2d(const Ints& kernel, const Ints& stride, const Ints& dilation, const Ints& padding,
                          bool ceil_mode, bool count_include_pad) const {
  Ints axes = last_axes(kernel.size()), pads = resolve_pool_pads(padding, kernel.size());
  Ints ceiled = ceil_mode_pads(*this, pads, kernel, stride, dilation);
  auto windows = [&](const Tensor& x, const Ints& p) { return x.pad_flat(p).pool(kernel, stride, dilation); };
  if (!count_include_pad) {
    const Ints& p = ceil_mode ? ceiled : pads;
    return windows(*this, p).sum(axes) / windows(ones_like(), p).sum(axes);
  }
  if (!ceil_mode) return windows(*this, pads).mean(axes);
  Ints extra;
  for (size_t i = 0; i < pads.size(); i++) extra.push_back(ceiled[i] - pads[i]);
  return windows(*this, ceiled).sum(axes) / windows(pad_flat(pads).ones_like(), extra).sum(axes);
}

std::pair<Tensor, Tensor> Tensor::max_pool2d(const Ints& kernel, const Ints& stride, const Ints& dilation,
                                             const Ints& padding, bool ceil_mode) const {
  Ints axes = last_axes(kernel.size()), pads = resolve_pool_pads(padding, kernel.size()), xs = shape();
  if (ceil_mode) pads = ceil_mode_pads(*this, pads, kernel, stride, dilation);
  Tensor windows = pad_flat(pads, dtypes::min(dtype())).pool(kernel, stride, dilation);
  Ints spatial(xs.end() - int64_t(kernel.size()), xs.end());
  int64_t n = product(spatial);
  Tensor index = arange(graph(), n, 0, -1, dtypes::int32).reshape(spatial);
  Tensor found = windows.eq(windows.max(axes, true)) *
                 index.pad_flat(pads, dtypes::min(index.dtype())).pool(kernel, stride, dilation);
  return {windows.max(axes), n - found.max(axes)};
}

Tensor Tensor::max_unpool2d(Tensor indices, const Ints& output_size) const {
  Ints xs = shape(), flat{xs[0], xs[1], 1, -1};
  Tensor spread =
      indices.reshape(flat).one_hot_along_dim(product(output_size), 2).where(reshape(flat), Const(0)).sum(Ints{3});
  return spread.reshape(concat_ints({{xs[0], xs[1]}, output_size}));
}

Tensor Tensor::layernorm(const Ints& axes, double eps) const {
  Tensor y = *this - mean(axes, true);
  return y * ((y * y).mean(axes, true) + eps).rsqrt();
}

Tensor Tensor::batchnorm(Tensor weight, Tensor bias, Tensor mean, Tensor invstd) const {
  Ints to(size_t(ndim()), 1);
  if (to.size() > 1) to[1] = size(1);
  Tensor x = *this - mean.reshape(to);
  if (weight) x = x * weight.reshape(to);
  x = x * (invstd.ndim() == 1 ? invstd.reshape(to) : invstd);
  return bias ? x + bias.reshape(to) : x;
}

namespace {

std::vector<std::string> split_by_char(const std::string& text, char c) {
  std::vector<std::string> out{""};
  for (char x : text) {
    if (x == c) out.emplace_back();
    else out.back() += x;
  }
  return out;
}

std::string letters_used_once(const std::string& text, const std::string& except = "") {
  std::set<char> letters;
  for (char c : text)
    if (std::isalpha(c) && std::count(text.begin(), text.end(), c) == 1 && except.find(c) == std::string::npos)
      letters.insert(c);
  return {letters.begin(), letters.end()};
}

void replace_dots(std::string& text, const std::string& by) {
  if (auto at = text.find("..."); at != std::string::npos) text.replace(at, 3, by);
}

// Replaces "..." by one unused letter for each axis that it stands for, and sets a missing output.
void expand_ellipsis(std::vector<std::string>& inputs, std::optional<std::string>& output, const Tensors& xs) {
  std::string all, used;
  for (auto& s : inputs) used += s;
  if (output) used += *output;
  for (char c : std::string("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    if (used.find(c) == std::string::npos) all += c;
  size_t most = 0;
  std::vector<size_t> counts;
  for (size_t i = 0; i < inputs.size(); i++) {
    bool has = inputs[i].find("...") != std::string::npos;
    counts.push_back(has ? size_t(std::max<int64_t>(0, xs[i].ndim() - int64_t(inputs[i].size()) + 3)) : 0);
    most = std::max(most, counts.back());
  }
  if (most > all.size()) throw Failure("an einsum formula over too many axes");
  for (size_t i = 0; i < inputs.size(); i++) replace_dots(inputs[i], all.substr(most - counts[i], counts[i]));
  std::string joined;
  for (auto& s : inputs) joined += s;
  if (output) replace_dots(*output, all.substr(0, most));
  else output = all.substr(0, most) + letters_used_once(joined, all);
}

// For each letter that occurs again in `s`, takes the diagonal of x, and removes the later occurrence.
Tensor take_diagonals(Tensor x, std::string& s) {
  for (size_t j = 0; j < s.size(); j++) {
    for (size_t k; (k = s.find(s[j], j + 1)) != std::string::npos; s.erase(k, 1)) {
      int64_t n = x.size(int64_t(j));
      Ints order;
      for (int64_t d = 0; d < x.ndim(); d++)
        if (d != int64_t(j) && d != int64_t(k)) order.push_back(d);
      order.insert(order.end(), {int64_t(j), int64_t(k)});
      if (x.size(int64_t(k)) != n) throw Failure("an einsum letter of two sizes");
      x = x.ndim() > 2 ? x.permute(order).flatten(-2).pad_axis(-1, 0, n).unflatten(-1, {n, n + 1})
                             .slice_axis(-1, {0, 1, 1}).squeeze(-1)
                       : x.diagonal();
      Ints back = int_range(0, x.ndim() - 1);
      back.insert(back.begin() + int64_t(j), x.ndim() - 1);
      x = x.permute(back);
    }
  }
  return x;
}

}  // namespace

Tensor Tensor::einsum(std::string_view text, Tensors xs) {
  std::string formula;
  for (char c : text)
    if (c != ' ') formula += c;
  std::optional<std::string> output;
  if (auto at = formula.find("->"); at != std::string::npos) {
    output = formula.substr(at + 2);
    formula.resize(at);
  }
  std::vector<std::string> inputs = split_by_char(formula, ',');
  if (inputs.size() != xs.size())
    throw Failure("an einsum formula of " + std::to_string(inputs.size()) + " operands for " +
                  std::to_string(xs.size()));
  if (text.find("...") != std::string_view::npos) expand_ellipsis(inputs, output, xs);
  if (!output) output = letters_used_once(formula);
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < xs.size(); i++) {
    if (inputs[i].size() != size_t(xs[i].ndim()))
      throw Failure("einsum operand '" + inputs[i] + "' has " + std::to_string(xs[i].ndim()) + " axes");
    xs[i] = take_diagonals(xs[i], inputs[i]);
    Ints shape = xs[i].shape();
    for (size_t j = 0; j < shape.size(); j++) {
      int64_t& size = sizes.try_emplace(inputs[i][j], shape[j]).first->second;
      if (size == 1) size = shape[j];
      else if (shape[j] != size && shape[j] != 1)
        throw Failure(std::string("einsum letter '") + inputs[i][j] + "' has two sizes");
    }
  }
  for (char c : *output)
    if (!sizes.contains(c)) throw Failure(std::string("einsum letter '") + c + "' is in no operand");
  Tensor out;
  for (size_t i = 0; i < xs.size(); i++) {
    std::string& s = inputs[i];
    Ints order = int_range(0, int64_t(s.size())), aligned, full;
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return s[size_t(a)] < s[size_t(b)]; });
    for (auto [c, n] : sizes) {
      auto at = s.find(c);
      aligned.push_back(at != std::string::npos ? xs[i].size(int64_t(at)) : 1);
      full.push_back(n);
    }
    Tensor x = s.empty() ? xs[i] : xs[i].permute(order).reshape(aligned).expand(full);
    out = out ? out * x : x;
  }
  Ints summed;
  Ints rank;    // for each letter of the output, its position among the output's letters in sorted order
  int64_t at = 0;
  for (auto [c, n] : sizes) {
    if (output->find(c) == std::string::npos) summed.push_back(at);
    at++;
  }
  for (char c : *output) rank.push_back(std::count_if(output->begin(), output->end(), [&](char d) { return d < c; }));
  return out.sum(summed).permute(rank);
}

}  // namespace tgc
