#include "lib/import/affine.h"

#include <algorithm>

#include "lib/import/value.h"
#include "lib/uop/integer_math.h"

namespace tgc::import {

AffineExpr AffineMath::index(UOp node, int64_t min, int64_t max) {
  if (min == max) return AffineExpr::number(min);
  index_bounds_[node] = {min, max};
  return {.terms = {{node, 1}}, .min_value = min, .max_value = max};
}

AffineExpr AffineMath::sum(const AffineExpr& a, const AffineExpr& b) {
  AffineExpr out{.constant = checked_add(a.constant, b.constant), .min_value = checked_add(a.min_value, b.min_value),
             .max_value = checked_add(a.max_value, b.max_value)};
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    if (j == b.terms.size() || (i < a.terms.size() && a.terms[i].first.id() < b.terms[j].first.id())) {
      out.terms.push_back(a.terms[i++]);
    } else if (i == a.terms.size() || b.terms[j].first.id() < a.terms[i].first.id()) {
      out.terms.push_back(b.terms[j++]);
    } else {
      const int64_t factor = checked_add(a.terms[i].second, b.terms[j].second);
      if (factor) out.terms.emplace_back(a.terms[i].first, factor);
      i++, j++;
    }
  }
  if (out.is_number()) out.min_value = out.max_value = out.constant;
  return out;
}

AffineExpr AffineMath::scale_affine(const AffineExpr& a, int64_t factor) {
  if (factor == 0) return {};
  AffineExpr out = a;
  for (auto& term : out.terms) term.second = checked_mul(term.second, factor);
  for (int64_t* number : {&out.constant, &out.min_value, &out.max_value}) *number = checked_mul(*number, factor);
  if (factor < 0) std::swap(out.min_value, out.max_value);
  return out;
}

AffineExpr AffineMath::narrow_bounds(AffineExpr a, int64_t size) {
  if (a.is_number() || size <= 0) return a;
  a.min_value = std::max<int64_t>(a.min_value, 0), a.max_value = std::min(a.max_value, size - 1);
  return a;
}

void AffineMath::set_bounds(AffineExpr& a) const {
  a.min_value = a.max_value = a.constant;
  for (auto& [node, factor] : a.terms) {
    const IndexBounds& b = index_bounds_.at(node);
    a.min_value = checked_add(a.min_value, checked_mul(factor, factor > 0 ? b.min_value : b.max_value));
    a.max_value = checked_add(a.max_value, checked_mul(factor, factor > 0 ? b.max_value : b.min_value));
  }
}

void AffineMath::split_terms(const AffineExpr& a, int64_t divisor, AffineExpr& whole, AffineExpr& rest) const {
  if (divisor <= 0) throw Refusal{"it has no elements"};
  auto floored = [&](int64_t x) { return floored_quotient(x, divisor); };
  for (auto& [node, factor] : a.terms) {
    const int64_t q = floored(factor), r = floored_remainder(factor, divisor);
    if (q) whole.terms.emplace_back(node, q);
    if (r) rest.terms.emplace_back(node, r);
  }
  whole.constant = floored(a.constant), rest.constant = floored_remainder(a.constant, divisor);
  set_bounds(whole), set_bounds(rest);
  // `rest` equals `a`, whose bounds may be tighter than those of set_bounds()
  if (whole.is_number() && whole.constant == 0) rest.min_value = a.min_value, rest.max_value = a.max_value;
}

AffineExpr AffineMath::quotient(const AffineExpr& a, int64_t divisor) {
  if (divisor == 1) return a;
  AffineExpr whole, rest;
  split_terms(a, divisor, whole, rest);
  if (rest.min_value >= 0 && rest.max_value < divisor) return whole;
  if (rest.is_number()) return add_number(whole, rest.constant / divisor);
  UOp divided = make_node(rest).alu(Op::IDIV, number(divisor));
  return sum(whole, index(divided, std::max<int64_t>(rest.min_value, 0) / divisor,
                          std::max<int64_t>(rest.max_value, 0) / divisor));
}

AffineExpr AffineMath::remainder(const AffineExpr& a, int64_t divisor) {
  if (divisor == 1) return {};
  AffineExpr whole, rest;
  split_terms(a, divisor, whole, rest);
  if (rest.min_value >= 0 && rest.max_value < divisor) return rest;
  if (rest.is_number()) return AffineExpr::number(rest.constant % divisor);
  return index(make_node(rest).alu(Op::MOD, number(divisor)), 0,
               std::min(divisor - 1, std::max<int64_t>(rest.max_value, 0)));
}

UOp AffineMath::make_node(const AffineExpr& a) {
  UOp out;
  for (auto& [index, factor] : a.terms) {
    UOp term = factor == 1 ? index : index.alu(Op::MUL, number(factor));
    out = out ? out.alu(Op::ADD, term) : term;
  }
  if (!out) return number(a.constant);
  return a.constant ? out.alu(Op::ADD, number(a.constant)) : out;
}

UOp AffineMath::between_condition(const AffineExpr& a, int64_t min, int64_t end) {
  UOp out;
  if (a.min_value < min) out = negate_node(make_node(a).alu(Op::CMPLT, number(min)));
  if (a.max_value >= end) out = logical_and(out, make_node(a).alu(Op::CMPLT, number(end)));
  return out;
}

}  // namespace tgc::import
