#include "lib/prove/special_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "lib/prove/side_evaluator.h"
#include "lib/uop/graph.h"
#include "lib/validate/kernel_inputs.h"

namespace tgc {
namespace {

std::optional<Const> parse_input_value(const std::string& text, DType d) {
  if (text == "True" || text == "False") return Const(text == "True");
  char* end = nullptr;
  Const out(int64_t(0));
  if (dtypes::is_float(d)) out = Const(std::strtod(text.c_str(), &end));
  else if (text.starts_with('-')) out = Const(int64_t(std::strtoll(text.c_str(), &end, 10)));
  else out = Const(Int(std::strtoull(text.c_str(), &end, 10)));
  return text.empty() || *end ? std::nullopt : std::optional(out);
}

// Returns true if there is arithmetic on floats, which may make an infinity or a NaN from finite ones.
bool computes_floats(UOp root) {
  constexpr OpSet kSelects{Op::WHERE, Op::NEG, Op::MAX, Op::CMPLT, Op::CMPNE, Op::CMPEQ, Op::TRUNC};
  return std::ranges::any_of(toposort(root), [](UOp u) {
    return u.in(ops::ALU | OpSet{Op::REDUCE, Op::WMMA}) && dtypes::is_float(u.dtype().base()) && !u.in(kSelects);
  });
}

bool is_same_element(const Array& a, const Array& b, int64_t i) {
  const auto item = size_t(a.dtype().itemsize());
  return std::equal(a.data() + size_t(i) * item, a.data() + size_t(i + 1) * item, b.data() + size_t(i) * item);
}

void copy_elements(Array& to, const Array& from, int64_t begin, int64_t end) {
  const auto item = int64_t(to.dtype().itemsize());
  std::copy(from.data() + begin * item, from.data() + end * item, to.data() + begin * item);
}

}  // namespace

SpecialInputs::SpecialInputs(StageRunner& runner, UOp ast, std::span<const UOp> sides,
                             std::vector<std::map<std::string, std::string>> points)
    : stage_runner_(runner), ast_(ast), input_points_(std::move(points)), computes_floats_(computes_floats(ast)) {
  constexpr size_t kMost = 48;
  for (UOp side : sides)
    for (UOp u : toposort(side)) {
      if (side_constants_.size() >= kMost || !u.is(Op::CONST) || u.is_invalid()) continue;
      const Const c = u.arg().to_const();
      if (std::ranges::none_of(side_constants_, [&](const Const& n) { return py_equal(n, c); }))
        side_constants_.push_back(c);
    }
  if (const StageTrial* usual = stage_runner_.default_trial())
    for (const NamedArray& a : usual->inputs) num_elements_ += a.array.size();
}

// Returns the numbers from which elements are drawn; with `is_wild`, also unusual ones, such as very small ones.
std::vector<Const> SpecialInputs::value_pool(DType d, bool is_wild) const {
  std::vector<Const> out;
  if (dtypes::is_bool(d)) return {Const(false), Const(true)};
  if (dtypes::is_float(d)) {
    const auto info = dtypes::finfo(d);
    const int bias = (1 << (info.exponent_bits - 1)) - 1;
    auto add = [&](double v) {
      const int exponent = is_wild && !computes_floats_ ? bias : std::min(bias, 20);
      if (std::fabs(v) <= std::ldexp(1.0, exponent)) out.emplace_back(v);
    };
    for (double v : {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, 2.5, -2.5, 3.0, -7.0}) add(v);
    for (const Const& c : side_constants_) {
      const double v = c.to_double(), step = std::ldexp(std::fabs(v), -info.mantissa_bits);
      for (double by : {0.0, 1.0, -1.0, step, -step}) add(v + by);
      add(-v);
    }
    if (!is_wild || d.itemsize() < 2) return out;
    for (double v : {std::ldexp(1.0, 1 - bias - info.mantissa_bits), std::ldexp(1.0, 1 - bias), 1e-4, 100.0, 4097.0})
      add(v), add(-v);
    if (computes_floats_) return out;
    for (double v : {std::ldexp(1.75, bias - 1), std::ldexp(1.0, bias / 2), 65504.0, 16777217.0}) add(v), add(-v);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (double v : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) out.emplace_back(v);
    return out;
  }
  const Int least = dtypes::min(d).to_int(), most = dtypes::max(d).to_int();
  auto add = [&](const Int& v) {
    if (v >= least && v <= most) out.emplace_back(v);
  };
  for (int v : {0, 1, -1, 2, -2, 3, -3, 5, -7, 8, 100, -100}) add(v);
  for (const Const& c : side_constants_) {
    if (c.is_float() && (!std::isfinite(c.to_double()) || std::fabs(c.to_double()) > 1e15)) continue;
    const Int v = c.is_float() ? Int(int64_t(c.to_double())) : c.to_int();
    for (int by : {0, 1, -1}) add(v + by);
    add(-v);
  }
  if (!is_wild) return out;
  for (int by : {0, 1, 2}) add(least + by), add(most - by);
  for (uint32_t bits : {7, 8, 15, 16, 31, 32, 62})
    for (int by : {0, -1, 1}) add(Int::pow2(bits) + by), add(-Int::pow2(bits) + by);
  return out;
}

std::optional<StageTrial> SpecialInputs::draw_trial(size_t number) const {
  const StageTrial& usual = *stage_runner_.default_trial();
  Arrays inputs = copy_arrays(usual.inputs);
  auto variables = usual.variables;
  if (number < input_points_.size()) {
    bool is_changed = false;
    for (NamedArray& a : inputs) {
      const auto v = input_points_[number].find(a.name);
      const auto value =
          v == input_points_[number].end() ? std::nullopt : parse_input_value(v->second, a.array.dtype());
      for (int64_t i = 0; value && i < a.array.size(); i++) write_element(a.array, size_t(i), *value);
      is_changed |= value.has_value();
    }
    for (auto& [name, value] : variables)
      if (const auto v = input_points_[number].find(name); v != input_points_[number].end())
        value = std::strtoll(v->second.c_str(), nullptr, 10), is_changed = true;
    return is_changed ? stage_runner_.stage_trial_of(std::move(inputs), std::move(variables)) : std::nullopt;
  }
  const uint64_t n = number - input_points_.size();
  constexpr InputSet kSets[] = {InputSet::AboveZero, InputSet::BelowZero, InputSet::AllSizes};
  if (n < std::size(kSets)) {
    InputDistribution draw = stage_runner_.distribution();
    draw.seed = 11 + n;
    (void)redraw_inputs(ast_, kSets[n], draw, {}, inputs);
    return stage_runner_.stage_trial_of(std::move(inputs), std::move(variables));
  }
  // The bits of the number of the draw select: whether numbers near the limits of the dtype are drawn; whether arrays
  // that are used in addresses keep their usual values; whether all drawn elements of an array are equal.
  const bool is_wild = n % 2, keeps_addresses = n / 2 % 2, is_uniform = n / 4 % 2;
  std::mt19937_64 random(n);
  const std::set<std::string> addresses = keeps_addresses ? constrained_inputs(ast_) : std::set<std::string>();
  for (NamedArray& a : inputs) {
    const std::vector<Const> numbers = value_pool(a.array.dtype(), is_wild);
    if (numbers.empty() || addresses.contains(a.name)) continue;
    const Const all = numbers[random() % numbers.size()];
    for (int64_t i = 0; i < a.array.size(); i++)
      if (random() % 8) write_element(a.array, size_t(i), is_uniform ? all : numbers[random() % numbers.size()]);
  }
  if (variables.empty()) return stage_runner_.stage_trial_of(std::move(inputs), std::move(variables));
  const Executable kernel = std::move(Executable::make_for_ref(ast_).value_or_throw());
  for (auto& [name, value] : variables)
    for (const VariableSpec& v : kernel.variables()) {
      if (v.name != name || v.max <= v.min) continue;
      const Const near =
          side_constants_.empty() ? Const(int64_t(0)) : side_constants_[random() % side_constants_.size()];
      const int64_t drawn = v.min + int64_t(random() % (uint64_t(v.max - v.min) + 1));
      value = drawn;
      if (n % 3 && near.is_int()) value = std::clamp(near.as_int(), Int(v.min), Int(v.max)).to_int64().value_or(drawn);
    }
  return stage_runner_.stage_trial_of(std::move(inputs), std::move(variables));
}

std::map<std::string, std::string> SpecialInputs::narrow_point(
    const StageTrial& trial, const std::function<bool(const StageTrial&)>& differs) const {
  constexpr int kMostRuns = 60;
  constexpr int64_t kFew = 4;
  const Arrays& usual = stage_runner_.default_trial()->inputs;
  Arrays inputs = copy_arrays(trial.inputs);
  int runs = 0;
  auto drop = [&](size_t array, int64_t begin, int64_t end) {
    if (runs++ >= kMostRuns) return false;
    Arrays changed = copy_arrays(inputs);
    copy_elements(changed[array].array, usual[array].array, begin, end);
    const auto t = stage_runner_.stage_trial_of(copy_arrays(changed), trial.variables);
    if (!t || !differs(*t)) return false;
    return inputs = std::move(changed), true;
  };
  std::map<std::string, std::string> out;
  for (size_t k = 0; k < inputs.size(); k++)
    if (inputs[k].array.size() > 0) (void)drop(k, 0, inputs[k].array.size());
  for (size_t k = 0; k < inputs.size(); k++) {
    int64_t begin = 0, end = inputs[k].array.size();
    while (end - begin > 1) {
      const int64_t middle = begin + (end - begin) / 2;
      if (drop(k, middle, end)) end = middle;
      else if (drop(k, begin, middle)) begin = middle;
      else break;
    }
    std::vector<int64_t> left;
    for (int64_t i = 0; i < inputs[k].array.size(); i++)
      if (!is_same_element(inputs[k].array, usual[k].array, i)) left.push_back(i);
    for (int64_t i : left)
      if (int64_t(left.size()) <= kFew)
        out[inputs[k].name + "[" + std::to_string(i) + "]"] = element_text(inputs[k].array, i);
    if (int64_t(left.size()) > kFew)
      out["elements of " + inputs[k].name] = std::to_string(left.size()) + ", [" + std::to_string(left[0]) +
                                              "] = " + element_text(inputs[k].array, left[0]);
  }
  for (auto& [name, value] : trial.variables) out[name] = std::to_string(value);
  return out;
}

}  // namespace tgc
