#include "lib/prove/linear_sums.h"

#include <algorithm>

namespace tgc {
namespace {

constexpr size_t kMostTerms = 64;
constexpr uint32_t kMostBits = 200;

bool is_within(const Interval& i, const Int& least, const Int& most) {
  return i.lower_bound && i.upper_bound && *i.lower_bound >= least && *i.upper_bound <= most;
}

Int floor_quotient(const Int& a, const Int& by) { return cdiv(a - floor_mod(a, by), by); }

}  // namespace

uint32_t LinearSumMath::atom_number(const std::string& text) {
  return atom_numbers_.try_emplace(text, uint32_t(atom_numbers_.size())).first->second;
}

std::string LinearSumMath::text_of(const LinearSum& s) {
  std::string out = "sum " + s.constant.str();
  for (auto& [atom, factor] : s.factors) out += " " + std::to_string(atom) + "*" + factor.str();
  return out;
}

LinearSum LinearSumMath::make_atom(const std::string& text, const Interval& interval) {
  const uint32_t number = atom_number(text);
  intervals_.try_emplace(number, interval);
  return {.factors = {{number, 1}}};
}

LinearSum LinearSumMath::add_scaled(const LinearSum& a, const LinearSum& b, const Int& times) const {
  LinearSum out = a;
  out.constant = out.constant + times * b.constant;
  for (auto& [atom, factor] : b.factors) {
    Int& to = out.factors[atom];
    to = to + times * factor;
    if (to.bit_length() > kMostBits) throw FormTooLarge{{"a large number"}};
    if (to == 0) out.factors.erase(atom);
  }
  if (out.factors.size() > kMostTerms || out.constant.bit_length() > kMostBits) throw FormTooLarge{{"a large sum"}};
  return out;
}

LinearSum LinearSumMath::multiply_sums(const LinearSum& a, const LinearSum& b) {
  if (a.is_constant()) return scale_sum(b, a.constant);
  if (b.is_constant()) return scale_sum(a, b.constant);
  const auto [x, y] = std::minmax(atom_number(a), atom_number(b));
  return make_atom("product " + std::to_string(x) + " " + std::to_string(y), {});
}

Interval LinearSumMath::interval(const LinearSum& s) const {
  Interval out{s.constant, s.constant};
  for (auto& [atom, factor] : s.factors) {
    const Interval& i = intervals_.at(atom);
    const auto &low = factor > 0 ? i.lower_bound : i.upper_bound, &high = factor > 0 ? i.upper_bound : i.lower_bound;
    out.lower_bound = out.lower_bound && low ? std::optional(*out.lower_bound + factor * *low) : std::nullopt;
    out.upper_bound = out.upper_bound && high ? std::optional(*out.upper_bound + factor * *high) : std::nullopt;
  }
  return out;
}

const LinearSumMath::Quotient* LinearSumMath::quotient_of_atom(uint32_t atom) const {
  auto it = quotients_.find(atom);
  return it == quotients_.end() ? nullptr : &it->second;
}

Int LinearSumMath::common_factor(const LinearSum& s, Int by) {
  for (auto& [atom, factor] : s.factors)
    for (Int b = factor.abs(); b != 0;) b = floor_mod(std::exchange(by, b), b);
  return by;
}

// Takes multiples of `by` out of the dividend, divides by common factors, and uses, for integers,
// floor((floor(x / a) + k) / by) = floor((x + k * a) / (a * by)).
LinearSum LinearSumMath::divide_sum(const LinearSum& a, const Int& by) {
  LinearSum whole, rest;
  auto split = [&](const Int& n, Int& q, Int& r) { r = floor_mod(n, by), q = floor_quotient(n, by); };
  split(a.constant, whole.constant, rest.constant);
  for (auto& [atom, factor] : a.factors) {
    Int q, r;
    split(factor, q, r);
    if (q != 0) whole.factors[atom] = q;
    if (r != 0) rest.factors[atom] = r;
  }
  if (is_within(interval(rest), 0, by - 1)) return whole;
  const Int common = common_factor(rest, by);
  Int divisor = by;
  if (common > 1) {
    divisor = cdiv(by, common), rest.constant = floor_quotient(rest.constant, common);
    for (auto& [atom, factor] : rest.factors) factor = cdiv(factor, common);
    if (divisor == 1) return add_scaled(whole, rest);
    return add_scaled(whole, divide_sum(rest, divisor));
  }
  if (rest.factors.size() == 1 && rest.factors.begin()->second == 1)
    if (const Quotient* inner = quotient_of_atom(rest.factors.begin()->first)) {
      const Quotient q = *inner;
      return add_scaled(
          whole, divide_sum(add_scaled(q.dividend, {.constant = rest.constant * q.divisor}), divisor * q.divisor));
    }
  const Interval i = interval(rest);
  Interval of;
  if (i.lower_bound) of.lower_bound = floor_quotient(*i.lower_bound, divisor);
  if (i.upper_bound) of.upper_bound = floor_quotient(*i.upper_bound, divisor);
  const LinearSum out = make_atom("quotient " + std::to_string(atom_number(rest)) + " " + divisor.str(), of);
  quotients_.try_emplace(out.factors.begin()->first, Quotient{rest, divisor});
  return add_scaled(whole, out);
}

// Replaces the constant and each factor by its remainder modulo `by`, in 0..by-1 or, with `is_symmetric`, nearest to 0.
LinearSum LinearSumMath::reduce_modulo(const LinearSum& a, const Int& by, bool is_symmetric) const {
  auto remainder_of = [&](const Int& n) {
    const Int r = floor_mod(n, by);
    return is_symmetric && r + r >= by ? r - by : r;
  };
  LinearSum out{.constant = remainder_of(a.constant)};
  for (auto& [atom, factor] : a.factors)
    if (const Int r = remainder_of(factor); r != 0) out.factors[atom] = r;
  return out;
}

LinearSum LinearSumMath::remainder_by(const LinearSum& a, const Int& by) {
  if (is_within(interval(a), 0, by - 1)) return a;
  const LinearSum rest = reduce_modulo(a, by, false);
  return add_scaled(rest, divide_sum(rest, by), -by);
}

LinearSum LinearSumMath::wrap_to_bits(const LinearSum& a, int bits, bool is_signed) {
  const Int all = Int::pow2(uint32_t(bits)), half = Int::pow2(uint32_t(bits - 1));
  if (!is_signed) return remainder_by(a, all);
  if (is_within(interval(a), -half, half - 1)) return a;
  const LinearSum rest = reduce_modulo(a, all, true);
  if (is_within(interval(rest), -half, half - 1)) return rest;
  return add_scaled(rest, divide_sum(add_scaled(rest, {.constant = half}), all), -all);
}

}  // namespace tgc
