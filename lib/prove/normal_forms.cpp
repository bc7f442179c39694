#include "lib/prove/normal_forms.h"

#include <algorithm>
#include <bit>

#include "lib/prove/smt_text.h"
#include "lib/uop/graph.h"

namespace tgc {

using namespace smt;

namespace {

std::string number_suffix(uint32_t n) { return " " + std::to_string(n); }

std::optional<Int> only_value_of(const Interval& i) {
  return i.lower_bound && i.lower_bound == i.upper_bound ? i.lower_bound : std::nullopt;
}

void merge_conditions(std::set<uint32_t>& to, const std::set<uint32_t>& more) { to.insert(more.begin(), more.end()); }

}  // namespace

bool NormalForms::are_equal(const ComparedValues& v, int lane) {
  if (v.is_bounds_comparison) return false;
  auto lane_of = [&](UOp u) { return u.dtype().count() > 1 ? lane : 0; };
  try {
    const Value a = value(v.before, lane_of(v.before)), b = value(v.after, lane_of(v.after));
    Form a_valid = true_form_, b_valid = true_form_;
    std::set<Form> given = a.conditions, needed = b.conditions;
    if (v.before_valid) {
      const Value valid = value(v.before_valid, lane_of(v.before_valid));
      a_valid = valid.form, merge_conditions(given, valid.conditions);
    }
    if (v.after_valid) {
      const Value valid = value(v.after_valid, lane_of(v.after_valid));
      b_valid = valid.form, merge_conditions(needed, valid.conditions);
    }
    const bool are_alike = v.before.dtype().scalar() == v.after.dtype().scalar() ||
                           (dtypes::is_int(v.before.dtype()) && dtypes::is_int(v.after.dtype()));
    return are_alike && a_valid == b_valid && form_where_valid(a.form, a_valid) == form_where_valid(b.form, a_valid) &&
           std::ranges::includes(given, needed);
  } catch (const UnencodableExpr&) {
    return false;
  }
}

const NormalForms::Value& NormalForms::source_value(UOp u, size_t i, int lane) {
  const UOp s = u.src(i);
  return value(s, s.dtype().count() > 1 ? lane : 0);
}

const NormalForms::Value& NormalForms::value(UOp root, int root_lane) {
  auto for_sources = [](UOp u, int lane, auto&& need) {
    if (auto moved = lane_source(u, lane)) need(moved->first, moved->second);
    else if (u.in(ops::Elementwise)) for_each_lane_source(u, lane, need);
    else if (u.is(Op::REDUCE)) need(u.src(0), u.src(0).dtype().count() > 1 ? lane : 0);
  };
  return known_values_.lane_value(root, root_lane, for_sources, [&](UOp u, int lane) {
    try {
      return make_value(u, lane);
    } catch (const FormTooLarge&) {  // give the node a form of its own, which is equal to no other form
      const std::string node = number_suffix(u.id()) + number_suffix(uint32_t(lane));
      return value_with_conditions("node" + node, u, lane, {form("defined node" + node)});
    }
  });
}

NormalForms::Value NormalForms::value_with_conditions(LinearSum sum, std::set<Form> conditions) const {
  const Form f = linear_sums_.atom_number(sum);
  return {f, std::move(sum), std::move(conditions)};
}

NormalForms::Value NormalForms::value_with_conditions(const std::string& text, UOp u, int lane,
                                                      std::set<Form> conditions) {
  if (dtypes::is_int(u.dtype()))
    return value_with_conditions(linear_sums_.make_atom(text, intervals_.interval_of(u, lane)), std::move(conditions));
  return {form(text), {}, std::move(conditions)};
}

std::set<NormalForms::Form> NormalForms::conditions_of_lane(UOp u, int lane) {
  std::set<Form> out;
  for (size_t i = 0; i < u.num_src(); i++) merge_conditions(out, source_value(u, i, lane).conditions);
  return out;
}

NormalForms::Value NormalForms::make_value(UOp u, int lane) {
  if (auto moved = lane_source(u, lane)) return value(moved->first, moved->second);
  switch (u.op()) {
    case Op::CONST:
    case Op::VCONST: return constant_value(u, lane);
    case Op::LOAD: return load_value(u);
    case Op::WHERE: return where_value(u, lane);
    case Op::CAST: return cast_value(u, lane);
    case Op::REDUCE: return reduce_value(u, lane);
    default: break;
  }
  if (u.in(ops::Comparison)) return comparison_value(u, lane);
  if (u.in(ops::ALU) && dtypes::is_bool(u.dtype())) return bool_op_value(u, lane);
  if (u.in(ops::ALU) && dtypes::is_int(u.dtype())) return integer_op_value(u, lane);
  if (u.in(ops::ALU)) return function_value(u, lane);
  if (u.is(Op::BITCAST) && u.src(0).dtype().count() == u.dtype().count()) {
    const DType from = u.src(0).dtype(), to = u.dtype();
    if (from == to) return source_value(u, 0, lane);
    if (dtypes::is_int(from) && dtypes::is_int(to))
      return wrapped_value(source_value(u, 0, lane).sum, u, lane, source_value(u, 0, lane).conditions);
    return function_value(u, lane);
  }
  return value_with_conditions("node" + number_suffix(u.id()) + number_suffix(uint32_t(lane)), u, lane, {});
}

NormalForms::Value NormalForms::constant_value(UOp u, int lane) {
  const DType d = u.dtype().scalar();
  const Const c = u.arg().is_tuple() ? u.arg()[size_t(lane)].to_const() : u.arg().to_const();
  if (c.is_invalid()) throw UnencodableExpr{"Invalid as a number"};
  if (dtypes::is_bool(d)) return {c.truthy() ? true_form_ : false_form_};
  if (dtypes::is_int(d)) return value_with_conditions(LinearSum{truncate(c, d).to_int()}, {});
  const auto bits = std::bit_cast<uint64_t>(truncate(c, d).to_double());
  return {form("float " + name_of_scalar(d) + " " + std::to_string(bits))};
}

NormalForms::Value NormalForms::load_value(UOp u) {
  int64_t element = 0;
  const std::string dtype = " " + name_of_scalar(u.dtype());
  if (const ExprLeaf* leaf = intervals_.leaf_of_load(u, &element))
    return value_with_conditions("leaf" + number_suffix(leaf->node.id()) + " " + std::to_string(element) + dtype, u, 0,
                                 {});
  const UOp index = u.src(0);
  if (!index.is(Op::INDEX) || index.num_src() != 2 || u.dtype().count() != 1)
    return value_with_conditions("node" + number_suffix(u.id()), u, 0, {});
  UOp at = index.src(1);
  if (at.is(Op::MOD) && at.src(0).is(Op::ADD) && at.src(0).src(0).is(Op::MOD) && at.src(0).src(1) == at.src(1))
    at = at.src(0).src(0).src(0);
  if (at.is(Op::CAST) && is_index(at.dtype()) && dtypes::is_int(at.src(0).dtype())) at = at.src(0);
  const Value& offset = value(at, 0);
  const std::string element_of = number_suffix(index.src(0).id()) + number_suffix(offset.form);
  std::set<Form> conditions = offset.conditions;
  const int64_t size = intervals_.num_indexed_elements(index);
  const Interval i = intervals_.interval_of(at, 0), exact = linear_sums_.interval(offset.sum);
  auto is_inside = [&](const Interval& x) {
    return x.lower_bound && *x.lower_bound >= 0 && x.upper_bound && *x.upper_bound < size;
  };
  if (size >= 0 && !is_inside(i) && !is_inside(exact)) conditions.insert(form("inside" + element_of));
  return value_with_conditions("load" + dtype + element_of, u, 0, std::move(conditions));
}

// REDUCEs with the same op and dtype over the same loops, in the same order, have the same form if their terms do. A
// REDUCE that reduces lanes has a form of its own.
NormalForms::Value NormalForms::reduce_value(UOp u, int lane) {
  const UOp term = u.src(0);
  if (term.dtype().count() != u.dtype().count())
    return value_with_conditions("node" + number_suffix(u.id()) + number_suffix(uint32_t(lane)), u, lane, {});
  const Value& of_term = source_value(u, 0, lane);
  std::string text = "reduce " + name_of_scalar(u.dtype()) + " " + u.arg().repr() + number_suffix(of_term.form);
  for (UOp r : u.src().subspan(1)) text += number_suffix(r.id());
  return value_with_conditions(text, u, lane, of_term.conditions);
}

// Encodes the op as an unknown function: equal operands give equal results.
NormalForms::Value NormalForms::function_value(UOp u, int lane) {
  std::string text = std::string(name_of(u.op())) + " " + name_of_scalar(u.dtype());
  std::vector<Form> operands;
  for (size_t i = 0; i < u.num_src(); i++) {
    text += " " + name_of_scalar(u.src(i).dtype());
    operands.push_back(source_value(u, i, lane).form);
  }
  const bool has_floats = dtypes::is_float(u.dtype());
  if (has_floats ? u.in({Op::ADD, Op::MUL}) : u.in({Op::AND, Op::OR, Op::XOR, Op::MAX})) std::ranges::sort(operands);
  for (Form f : operands) text += number_suffix(f);
  return value_with_conditions(text, u, lane, conditions_of_lane(u, lane));
}

NormalForms::Value NormalForms::wrapped_value(const LinearSum& sum, UOp u, int lane, std::set<Form> conditions) {
  const DType d = u.dtype().scalar();
  if (is_index(d)) return value_with_conditions(sum, std::move(conditions));
  const Interval i = intervals_.interval_of(u, lane);  // this is the dtype's interval if the result may wrap around
  const bool may_wrap = i.lower_bound == dtypes::min(d).to_int() || i.upper_bound == dtypes::max(d).to_int();
  return value_with_conditions(may_wrap ? linear_sums_.wrap_to_bits(sum, d.bitsize(), is_signed(d)) : sum,
                               std::move(conditions));
}

// Returns the result of an AND, OR or XOR as a sum: for an AND with a constant that keeps or clears the low bits, and
// for an OR or XOR if it is clear that no bit is set in both operands; else nullopt.
std::optional<LinearSum> NormalForms::bit_op_sum(UOp u, const LinearSum& a, const LinearSum& b) {
  for (bool first : {false, true}) {
    const LinearSum &x = first ? b : a, &other = first ? a : b;
    const Int mask = other.constant;
    if (u.is(Op::AND)) {
      if (!other.is_constant()) continue;
      if (mask >= 0 && (mask & (mask + 1)) == 0) return linear_sums_.remainder_by(x, mask + 1);
      // this mask clears the low bits: the result is x minus its remainder
      if (mask < 0 && (-mask & (-mask - 1)) == 0)
        return linear_sums_.add_scaled(x, linear_sums_.remainder_by(x, -mask), -1);
      continue;
    }
    if (other == LinearSum{}) return x;
    const Int common = LinearSumMath::common_factor(x, x.constant.abs());  // bits below the lowest 1 of `common` are 0
    Int low = 1;
    while (common != 0 && floor_mod(common, low * 2) == 0) low = low * 2;
    const Interval i = linear_sums_.interval(other);
    if (i.lower_bound && *i.lower_bound >= 0 && i.upper_bound && *i.upper_bound < low)
      return linear_sums_.add_scaled(x, other);
  }
  return std::nullopt;
}

NormalForms::Value NormalForms::integer_op_value(UOp u, int lane) {
  const DType d = u.dtype().scalar();
  const Value a = source_value(u, 0, lane), b = u.num_src() > 1 ? source_value(u, 1, lane) : Value{};
  std::set<Form> conditions = conditions_of_lane(u, lane);
  const Interval of_b =
      u.num_src() > 1 ? intervals_.interval_of(u.src(1), u.src(1).dtype().count() > 1 ? lane : 0) : Interval();
  const std::optional<Int> by = only_value_of(of_b);
  switch (u.op()) {
    case Op::ADD: return wrapped_value(linear_sums_.add_scaled(a.sum, b.sum), u, lane, conditions);
    case Op::SUB: return wrapped_value(linear_sums_.add_scaled(a.sum, b.sum, -1), u, lane, conditions);
    case Op::NEG: return wrapped_value(linear_sums_.scale_sum(a.sum, -1), u, lane, conditions);
    case Op::MUL: return wrapped_value(linear_sums_.multiply_sums(a.sum, b.sum), u, lane, conditions);
    case Op::MULACC:
      return wrapped_value(
          linear_sums_.add_scaled(linear_sums_.multiply_sums(a.sum, b.sum), source_value(u, 2, lane).sum), u, lane,
          conditions);
    case Op::TRUNC: return a;
    case Op::IDIV:
    case Op::MOD: {
      const Interval exact = linear_sums_.interval(a.sum);
      const Interval of_a = intervals_.interval_of(u.src(0), u.src(0).dtype().count() > 1 ? lane : 0);
      const bool is_natural =
          (exact.lower_bound && *exact.lower_bound >= 0) || (of_a.lower_bound && *of_a.lower_bound >= 0);
      if (by && *by > 0 && is_natural)
        return value_with_conditions(
            u.is(Op::IDIV) ? linear_sums_.divide_sum(a.sum, *by) : linear_sums_.remainder_by(a.sum, *by), conditions);
      const bool may_be_zero =
          !of_b.lower_bound || !of_b.upper_bound || (*of_b.lower_bound <= 0 && *of_b.upper_bound >= 0);
      if (may_be_zero) conditions.insert(negated_form(zero_form(b.sum)));
      Value out = function_value(u, lane);
      return out.conditions = conditions, out;
    }
    case Op::SHL:
    case Op::SHR: {
      if (by && *by >= 0 && *by < bit_width_of(d)) {
        const Int power = Int::pow2(uint32_t(by->small_value()));
        if (u.is(Op::SHR)) return value_with_conditions(linear_sums_.divide_sum(a.sum, power), conditions);
        return wrapped_value(linear_sums_.scale_sum(a.sum, power), u, lane, conditions);
      }
      Value out = function_value(u, lane);
      out.conditions.insert(form("count" + number_suffix(b.form) + number_suffix(uint32_t(bit_width_of(d)))));
      return out;
    }
    case Op::AND:
    case Op::OR:
    case Op::XOR:
      if (auto sum = bit_op_sum(u, a.sum, b.sum)) return value_with_conditions(std::move(*sum), conditions);
      break;
    default: break;
  }
  return function_value(u, lane);
}

NormalForms::Value NormalForms::cast_value(UOp u, int lane) {
  const UOp s = u.src(0);
  const DType to = u.dtype().scalar(), from = s.dtype().scalar();
  int64_t element = 0;
  const bool may_be_leaf = s.is(Op::LOAD) && dtypes::is_float(from) && dtypes::is_float(to);
  const ExprLeaf* leaf = may_be_leaf ? intervals_.leaf_of_load(s, &element) : nullptr;
  if (leaf) {
    const std::string of_leaf = number_suffix(leaf->node.id()) + " " + std::to_string(element);
    return value_with_conditions("leaf" + of_leaf + " " + name_of_scalar(to), u, lane, {});
  }
  const Value& a = source_value(u, 0, lane);
  if (to == from) return a;
  if (dtypes::is_bool(from) && dtypes::is_int(to)) {
    const Form one = linear_sums_.atom_number(LinearSum{1}), zero = linear_sums_.atom_number(LinearSum{0});
    if (a.form == true_form_ || a.form == false_form_)
      return value_with_conditions(LinearSum{a.form == true_form_ ? 1 : 0}, a.conditions);
    return value_with_conditions(
        linear_sums_.make_atom("where" + number_suffix(a.form) + number_suffix(one) + number_suffix(zero),
                               {Int(0), Int(1)}),
        a.conditions);
  }
  const bool is_from_int = dtypes::is_int(from);
  if (is_from_int && dtypes::is_bool(to)) return {negated_form(zero_form(a.sum)), {}, a.conditions};
  if (is_from_int && dtypes::is_int(to)) return wrapped_value(a.sum, u, lane, a.conditions);
  if (is_from_int)  // the float depends only on the number, and not on the dtype of the integer
    return {form("CAST " + name_of_scalar(to) + " integer" + number_suffix(a.form)), {}, a.conditions};
  Value out = function_value(u, lane);
  if (dtypes::is_float(from) && dtypes::is_int(to))
    out.conditions.insert(form("fits " + name_of_scalar(to) + " " + name_of_scalar(from) + number_suffix(a.form)));
  return out;
}

NormalForms::Form NormalForms::negated_form(Form f) {
  if (f == true_form_ || f == false_form_) return f == true_form_ ? false_form_ : true_form_;
  if (auto it = negated_forms_.find(f); it != negated_forms_.end()) return it->second;
  const Form out = form("not" + number_suffix(f));
  negated_forms_[f] = out, negated_forms_[out] = f;
  return out;
}

NormalForms::Form NormalForms::nonnegative_form(const LinearSum& s) {
  const Interval i = linear_sums_.interval(s);
  if (i.lower_bound && *i.lower_bound >= 0) return true_form_;
  if (i.upper_bound && *i.upper_bound < 0) return false_form_;
  LinearSum by = s;
  if (const Int common = linear_sums_.common_factor(s); common > 1) {
    for (auto& [atom, factor] : by.factors) factor = cdiv(factor, common);
    by.constant = cdiv(by.constant - floor_mod(by.constant, common), common);
  }
  // use that floor(x / n) + k >= 0 means x + k * n >= 0, and k - floor(x / n) >= 0 means k * n + n - 1 - x >= 0
  if (const Int factor = by.factors.begin()->second; by.factors.size() == 1 && factor.abs() == 1)
    if (const LinearSumMath::Quotient* found = linear_sums_.quotient_of_atom(by.factors.begin()->first)) {
      const LinearSumMath::Quotient q = *found;
      const Int constant = by.constant * q.divisor + (factor > 0 ? Int(0) : q.divisor - 1);
      return nonnegative_form(linear_sums_.add_scaled({.constant = constant}, q.dividend, factor));
    }
  if (by.factors.begin()->second < 0)  // s >= 0 is the negation of -s - 1 >= 0, and gets a form that shows this
    return negated_form(
        form("natural" + number_suffix(linear_sums_.atom_number(linear_sums_.add_scaled({.constant = -1}, by, -1)))));
  return form("natural" + number_suffix(linear_sums_.atom_number(by)));
}

NormalForms::Form NormalForms::zero_form(const LinearSum& s) {
  const Interval i = linear_sums_.interval(s);
  if (s.is_constant()) return s.constant == 0 ? true_form_ : false_form_;
  if ((i.lower_bound && *i.lower_bound > 0) || (i.upper_bound && *i.upper_bound < 0)) return false_form_;
  return form("zero" + number_suffix(linear_sums_.atom_number(
                           s.factors.begin()->second < 0 ? linear_sums_.scale_sum(s, -1) : s)));
}

NormalForms::Form NormalForms::and_or_form(bool is_and, Form a, Form b) {
  if (!is_and) return negated_form(and_or_form(true, negated_form(a), negated_form(b)));
  if (a == false_form_ || b == false_form_ || a == negated_form(b)) return false_form_;
  std::set<Form> parts;
  for (Form f : {a, b}) {
    if (f == true_form_) continue;
    if (auto it = conjunction_parts_.find(f); it != conjunction_parts_.end()) merge_conditions(parts, it->second);
    else parts.insert(f);
  }
  if (parts.empty()) return true_form_;
  if (parts.size() == 1) return *parts.begin();
  if (parts.size() > 64) throw FormTooLarge{{"a large condition"}};
  std::string text = "and";
  for (Form f : parts) text += number_suffix(f);
  const Form out = form(text);
  conjunction_parts_.try_emplace(out, std::move(parts));
  return out;
}

NormalForms::Value NormalForms::bool_op_value(UOp u, int lane) {
  if (u.num_src() != 2) return u.is(Op::TRUNC) ? source_value(u, 0, lane) : function_value(u, lane);
  const Form a = source_value(u, 0, lane).form, b = source_value(u, 1, lane).form;
  switch (u.op()) {
    case Op::ADD:
    case Op::MAX:
    case Op::OR: return {and_or_form(false, a, b), {}, conditions_of_lane(u, lane)};
    case Op::MUL:
    case Op::AND: return {and_or_form(true, a, b), {}, conditions_of_lane(u, lane)};
    case Op::XOR:
      for (auto [x, y] : {std::pair(a, b), std::pair(b, a)})
        if (y == true_form_ || y == false_form_)
          return {y == true_form_ ? negated_form(x) : x, {}, conditions_of_lane(u, lane)};
      break;
    default: break;
  }
  return function_value(u, lane);
}

NormalForms::Value NormalForms::comparison_value(UOp u, int lane) {
  const DType d = u.src(0).dtype().scalar();
  const Value &a = source_value(u, 0, lane), &b = source_value(u, 1, lane);
  std::set<Form> conditions = conditions_of_lane(u, lane);
  if (dtypes::is_bool(d)) {
    if (u.is(Op::CMPLT)) return {and_or_form(true, negated_form(a.form), b.form), {}, conditions};
    for (auto [x, y] : {std::pair(a.form, b.form), std::pair(b.form, a.form)})
      if (y == true_form_ || y == false_form_)
        return {(y == true_form_) == u.is(Op::CMPEQ) ? x : negated_form(x), {}, conditions};
    return function_value(u, lane);
  }
  if (!dtypes::is_int(d)) return function_value(u, lane);
  const LinearSum difference = linear_sums_.add_scaled(b.sum, a.sum, -1);
  if (u.is(Op::CMPLT)) return {nonnegative_form(linear_sums_.add_scaled(difference, {.constant = -1})), {}, conditions};
  const Form zero = zero_form(difference);
  return {u.is(Op::CMPEQ) ? zero : negated_form(zero), {}, conditions};
}

NormalForms::Value NormalForms::where_value(UOp u, int lane) {
  if (!dtypes::is_bool(u.src(0).dtype())) throw UnencodableExpr{"a WHERE whose condition is no bool"};
  const Value &c = source_value(u, 0, lane), &a = source_value(u, 1, lane), &b = source_value(u, 2, lane);
  std::set<Form> conditions = c.conditions;
  if (c.form == true_form_ || c.form == false_form_) {
    Value out = c.form == true_form_ ? a : b;
    merge_conditions(out.conditions, conditions);
    return out;
  }
  if (a.conditions == b.conditions) merge_conditions(conditions, a.conditions);
  else {  // only the chosen value must be defined
    std::string text = "defined" + number_suffix(c.form);
    for (const Value* v : {&a, &b})
      for (text += " :"; Form f : v->conditions) text += number_suffix(f);
    conditions.insert(form(text));
  }
  if (a.form == b.form) return {a.form, a.sum, conditions};
  Form condition = c.form, first = a.form, second = b.form;
  if (auto it = negated_forms_.find(condition); it != negated_forms_.end() && it->second < condition)
    condition = it->second, std::swap(first, second);
  const std::string text = "where" + number_suffix(condition) + number_suffix(first) + number_suffix(second);
  Value out = value_with_conditions(text, u, lane, conditions);
  where_forms_.try_emplace(out.form, WhereForm{condition, first, second});
  return out;
}

NormalForms::Form NormalForms::form_where_valid(Form f, Form valid) const {
  auto holds = [&](Form condition) {
    auto it = conjunction_parts_.find(valid);
    return condition == valid || (it != conjunction_parts_.end() && it->second.contains(condition));
  };
  for (auto it = where_forms_.find(f); it != where_forms_.end(); it = where_forms_.find(f)) {
    const WhereForm& c = it->second;
    auto negation = negated_forms_.find(c.condition);
    if (holds(c.condition)) f = c.first;
    else if (negation != negated_forms_.end() && holds(negation->second)) f = c.second;
    else break;
  }
  return f;
}

}  // namespace tgc
