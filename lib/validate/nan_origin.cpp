#include "lib/validate/nan_origin.h"

#include <algorithm>
#include <cmath>

#include "lib/support/deadline.h"
#include "lib/support/deep_stack.h"
#include "lib/support/depth_guard.h"
#include "lib/uop/exec_alu.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

constexpr int64_t kMaxWorkSteps = 200'000'000;
// most calls of follow_origin(), which may visit a node once for each path that leads to it
constexpr int kMaxFollowedNodes = 10'000;
constexpr int kMaxRecursionDepth = 100'000;
constexpr size_t kMostLoops = 256;

bool is_nan(Const c) { return c.is_float() && std::isnan(c.as_float()); }
bool is_infinite(Const c) { return c.is_float() && std::isinf(c.as_float()); }
bool is_nan_or_infinite(Const c) { return is_nan(c) || is_infinite(c); }

std::string number_text(Const c) {
  if (!c.is_float()) return c.str();
  if (is_nan(c)) return "nan";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", c.as_float());
  return text;
}

std::string_view function_name(UOp u) {
  switch (u.op()) {
    case Op::LOG2: return "log2";
    case Op::EXP2: return "exp2";
    case Op::SIN: return "sin";
    case Op::SQRT: return "sqrt";
    case Op::TRUNC: return "trunc";
    case Op::MAX: return "max";
    case Op::POW: return "pow";
    case Op::THREEFRY: return "threefry";
    default: return name_of(u.op());
  }
}

std::string expression_text(UOp u, std::span<const Const> operands) {
  auto text = [&](size_t i) {
    const std::string number = number_text(operands[i]);
    return number.starts_with("-") && i > 0 ? "(" + number + ")" : number;
  };
  if (u.is(Op::RECIPROCAL)) return "1/" + (number_text(operands[0]).starts_with("-") ? "(" + text(0) + ")" : text(0));
  if (u.is(Op::CAST)) return std::string(u.dtype().repr()) + "(" + text(0) + ")";
  if (u.is(Op::FDIV)) return text(0) + "/" + text(1);
  const Op op = u.is(Op::REDUCE) ? u.arg().op() : u.op();
  if (operands.size() == 2 && !infix_symbol(op).empty()) return text(0) + std::string(infix_symbol(op)) + text(1);
  std::string out;
  for (size_t i = 0; i < operands.size(); i++) out += (i > 0 ? ", " : "") + number_text(operands[i]);
  return std::string(u.is(Op::REDUCE) ? name_of(op) : function_name(u)) + "(" + out + ")";
}

// Returns the buffer of `u`, the first source of an INDEX.
UOp memory_of(UOp u) {
  while (u.in({Op::AFTER, Op::LOAD}) && u.num_src() > 0) u = u.src(0);
  return u;
}

}  // namespace

Result<std::vector<NanStep>> NanOriginFinder::find_steps(std::string_view output, int64_t element) {
  return catch_failures([&] {
    for (UOp u : toposort(ast_)) {
      if (!u.is(Op::STORE) || !u.src(0).is(Op::INDEX)) continue;
      const UOp memory = memory_of(u.src(0).src(0));
      if (!memory.is(Op::DEFINE_GLOBAL) || "data" + memory.arg().repr() != output || !is_stored_at(u, element))
        continue;
      const Const stored = value_of(u.src(1));
      if (!is_nan_or_infinite(stored))
        throw Failure("REF computes " + number_text(stored) + " for " + std::string(output) + "[" +
                      std::to_string(element) + "], which is a number");
      follow_origin(u.src(1));
      return std::move(nan_steps_);
    }
    throw Failure("no store of the kernel stores to " + std::string(output) + "[" + std::to_string(element) + "]");
  });
}

// If an iteration of the loops in the index of `store` stores to the element, returns true and keeps the values of the
// loops in this iteration in loop_values_.
bool NanOriginFinder::is_stored_at(UOp store, int64_t element) {
  const UOp index = store.src(0).src(1);
  const std::vector<UOp> ranges = ranges_of(index);
  bool found = false;
  for_each_iteration(ranges, [&] {
    const Const at = value_of(index);
    found = at.is_integral() && at.as_int() == element;
    return !found;
  });
  return found;
}

template <class Each>
void NanOriginFinder::for_each_iteration(std::span<const UOp> ranges, Each&& each) {
  std::vector<int64_t> sizes;
  for (UOp r : ranges) {
    const Const size = value_of(r.src(0));
    if (!size.is_int() || !size.as_int().is_small()) throw Failure("a loop's size is no number");
    sizes.push_back(size.as_int().small_value());
    if (sizes.back() <= 0) return;
  }
  const size_t outer = loop_nest_.size();
  for (UOp r : ranges) {
    if (!loop_values_.emplace(r, 0).second) throw Failure("a loop is inside of itself");
    loop_nest_.push_back(r);
  }
  while (count_work_step(), each()) {
    size_t i = ranges.size();
    while (i > 0 && ++loop_values_[ranges[i - 1]] == sizes[i - 1]) loop_values_[ranges[--i]] = 0;
    if (i > 0) continue;
    for (UOp r : ranges) loop_values_.erase(r);  // after the last iteration, the loops have no values
    loop_nest_.resize(outer);
    return;
  }
}

void NanOriginFinder::count_work_step() {
  if (++num_work_steps_ > kMaxWorkSteps) throw Failure("the kernel is too large to be evaluated at one element");
  if (num_work_steps_ % 65536 == 0) throw_if_late();
}

// Limits the depth of the recursion, and makes sure that the stack suffices.
template <class Recurse>
auto NanOriginFinder::call_one_level_deeper(Recurse&& recurse) -> decltype(recurse()) {
  const DepthGuard level(recursion_depth_);
  if (recursion_depth_ > kMaxRecursionDepth) throw Failure("the kernel's expressions are nested too deeply");
  return recursion_depth_ % (kStackCheckLevels / 2) == 0 ? call_with_stack(recurse) : recurse();
}

const std::vector<UOp>& NanOriginFinder::ranges_of(UOp u) {
  if (auto it = known_nodes_.find(u); it != known_nodes_.end()) return it->second.ranges;
  for (UOp n : toposort(u)) {
    if (known_nodes_.contains(n)) continue;
    std::vector<UOp> ranges;
    if (n.is(Op::RANGE)) ranges.push_back(n);
    for (UOp s : n.src())
      for (UOp r : known_nodes_.at(s).ranges)
        if (!std::ranges::count(ranges, r)) ranges.push_back(r);
    if (n.is(Op::REDUCE)) std::erase_if(ranges, [&](UOp r) { return std::ranges::count(n.src().subspan(1), r) > 0; });
    if (ranges.size() > kMostLoops) throw Failure("the kernel has too many loops to be evaluated at one element");
    known_nodes_[n].ranges = std::move(ranges);
  }
  return known_nodes_.at(u).ranges;
}

Const NanOriginFinder::value_of(UOp u) {
  const std::vector<UOp>& ranges = ranges_of(u);
  std::vector<int64_t> at;
  for (UOp r : ranges) {
    auto it = loop_values_.find(r);
    if (it == loop_values_.end()) throw Failure("a value depends on a loop that does not enclose it");
    at.push_back(it->second);
  }
  if (const KnownNode& k = known_nodes_.at(u); k.has_value && k.range_values == at) return k.value;
  count_work_step();
  const Const out = call_one_level_deeper([&] { return compute_value(u); });
  KnownNode& k = known_nodes_.at(u);
  k.range_values = std::move(at), k.value = out, k.has_value = true;
  return out;
}

Const NanOriginFinder::compute_value(UOp u) {
  switch (u.op()) {
    case Op::CONST: return u.is_invalid() ? Const::invalid() : truncate(u.arg().to_const(), u.dtype());
    case Op::RANGE: return loop_values_.at(u);
    case Op::DEFINE_VAR: {
      auto it = variable_values_.find(std::string(u.arg()[0].text()));
      if (it == variable_values_.end()) throw Failure("variable '" + std::string(u.arg()[0].text()) + "' has no value");
      return it->second;
    }
    case Op::BIND:
    case Op::AFTER:
    case Op::LOAD: return value_of(u.src(0));
    case Op::INDEX: return load_value(u);
    case Op::CAST: return cast_value(u);
    case Op::REDUCE: return reduce_value(u);
    case Op::WHERE: return value_of(u.src(value_of(u.src(0)).truthy() ? 1 : 2));
    default: break;
  }
  std::vector<Const> operands;
  for (UOp s : u.src()) operands.push_back(value_of(s));
  return apply_operation(u, operands);
}

Const NanOriginFinder::apply_operation(UOp u, std::span<const Const> operands) {
  if (std::ranges::any_of(operands, &Const::is_invalid)) return Const::invalid();
  const std::vector<Arg> args(operands.begin(), operands.end());
  const Op op = u.is(Op::REDUCE) ? u.arg().op() : u.op();
  if (u.dtype().count() > 1) throw Failure("a vector cannot be evaluated at one element");
  return exec_alu(u.graph(), op, u.dtype(), args).to_const();
}

Const NanOriginFinder::load_value(UOp index) {
  const UOp memory = memory_of(index.src(0));
  const Const at = value_of(index.src(1));
  if (at.is_invalid()) return dtypes::as_const(0, memory.dtype().base());
  const Array* array = memory.is(Op::DEFINE_GLOBAL) ? find_array(input_arrays_, "data" + memory.arg().repr()) : nullptr;
  if (!array) throw Failure("there are no values of " + std::string(name_of(memory.op())) + " " + memory.arg().repr());
  if (!at.is_integral()) throw Failure("the index of a load is no integer");
  const Int i = at.as_int();
  if (i < 0 || i >= array->size())
    throw Failure("a load is out of bounds: data" + memory.arg().repr() + "[" + i.str() + "]");
  const DType dtype = array->dtype();
  const auto* bytes = reinterpret_cast<const char*>(array->data());
  auto integer = [&]<class T>(T number) {
    std::memcpy(&number, bytes + i.small_value() * int64_t(sizeof number), sizeof number);
    return Const(Int(number));
  };
  if (dtypes::is_float(dtype)) return element_as_double(*array, i.small_value());
  if (dtype == dtypes::bool_) return bytes[i.small_value()] != 0;
  const bool is_unsigned = dtypes::is_unsigned(dtype);
  switch (dtype.itemsize()) {
    case 1: return is_unsigned ? integer(uint8_t()) : integer(int8_t());
    case 2: return is_unsigned ? integer(uint16_t()) : integer(int16_t());
    case 4: return is_unsigned ? integer(uint32_t()) : integer(int32_t());
    default: return is_unsigned ? integer(uint64_t()) : integer(int64_t());
  }
}

Const NanOriginFinder::cast_value(UOp u) {
  const Const from = value_of(u.src(0));
  if (from.is_invalid()) return from;
  if (is_nan_or_infinite(from) && !dtypes::is_float(u.dtype()))
    return u.dtype() == dtypes::bool_ ? Const(true) : Const(0);
  return truncate(dtypes::as_const(from, u.dtype()), u.dtype());
}

Const NanOriginFinder::reduce_value(UOp u) {
  Const sum = identity_element(u.arg().op(), u.dtype());
  for_each_iteration(u.src().subspan(1), [&] {
    const Const operands[] = {sum, value_of(u.src(0))};
    sum = apply_operation(u, operands);
    return true;
  });
  return sum;
}

void NanOriginFinder::follow_origin(UOp u) {
  if (++num_followed_nodes_ > kMaxFollowedNodes) throw Failure("too many operations lead to the bad element");
  call_one_level_deeper([&] { follow_operands(u); });
}

void NanOriginFinder::follow_operands(UOp u) {
  if (u.in({Op::BIND, Op::AFTER, Op::LOAD})) return follow_origin(u.src(0));
  if (u.is(Op::CONST)) return;
  if (u.is(Op::REDUCE)) return follow_reduce(u);
  if (u.is(Op::WHERE)) return follow_origin(u.src(value_of(u.src(0)).truthy() ? 1 : 2));
  if (u.is(Op::INDEX)) {
    const std::string name = "data" + memory_of(u.src(0)).arg().repr();
    nan_steps_.push_back(
        {.node = u,
         .operation_text = number_text(value_of(u)) + " is loaded from " + name + "[" + value_of(u.src(1)).str() + "]",
         .loop_values_text = loop_values_text(),
         .loaded_array = name});
    return;
  }
  std::vector<Const> operands;
  for (UOp s : u.src()) operands.push_back(value_of(s));
  for (size_t i = 0; i < operands.size(); i++)
    if (is_nan(operands[i])) return follow_origin(u.src(i));
  const Const result = value_of(u);
  size_t infinite = 0;
  for (size_t i = 0; i < operands.size(); i++) {
    if (!is_infinite(operands[i])) continue;
    infinite++;
    follow_origin(u.src(i));
  }
  if (infinite == 0 || is_nan(result)) add_step(u, operands, result);
}

void NanOriginFinder::follow_reduce(UOp u) {
  const Const identity = identity_element(u.arg().op(), u.dtype());
  const bool seeks_nan = is_nan(value_of(u));
  Const sum = identity;
  const size_t outer = loop_nest_.size();
  bool was_infinite = is_infinite(identity);
  for_each_iteration(u.src().subspan(1), [&] {
    const Const operands[] = {sum, value_of(u.src(0))};
    const Const next = apply_operation(u, operands);
    const bool ends = seeks_nan ? is_nan(next) : is_infinite(next);
    if (seeks_nan && is_infinite(next) && !was_infinite && !ends) {  // this term makes the partial result infinite
      if (is_infinite(operands[1])) follow_origin(u.src(0));
      else add_step(u, operands, next);
      was_infinite = true;
    }
    sum = next;
    if (!ends) return true;
    if (is_nan_or_infinite(operands[1])) follow_origin(u.src(0));
    if (!is_nan(operands[1]) && (is_nan(next) || !is_nan_or_infinite(operands[1]))) add_step(u, operands, next);
    return false;
  });
  for (size_t i = outer; i < loop_nest_.size(); i++) loop_values_.erase(loop_nest_[i]);
  loop_nest_.resize(outer);
}

void NanOriginFinder::add_step(UOp u, std::span<const Const> operands, Const result) {
  std::string origins;
  if (!u.is(Op::REDUCE))
    for (UOp s : u.src())
      if (std::string o = origin_text_of(s); !o.empty()) origins += (origins.empty() ? "" : ", ") + o;
  nan_steps_.push_back({.node = u,
                    .operation_text = expression_text(u, operands) + " = " + number_text(result),
                    .operands_text = origins,
                    .loop_values_text = loop_values_text()});
}

// Returns a text such as "0 = exp2(-250.1)"; may be empty.
std::string NanOriginFinder::origin_text_of(UOp operand) {
  while (operand.in({Op::BIND, Op::AFTER, Op::LOAD, Op::WHERE}))
    operand = operand.src(!operand.is(Op::WHERE) ? 0 : value_of(operand.src(0)).truthy() ? 1 : 2);
  if (operand.in({Op::CONST, Op::RANGE}) || is_nan_or_infinite(value_of(operand))) return {};
  const std::string number = number_text(value_of(operand)) + " = ";
  if (operand.is(Op::INDEX))
    return number + "data" + memory_of(operand.src(0)).arg().repr() + "[" + value_of(operand.src(1)).str() + "]";
  if (operand.is(Op::REDUCE)) return number + "a reduction (" + std::string(name_of(operand.arg().op())) + ")";
  std::vector<Const> operands;
  for (UOp s : operand.src()) operands.push_back(value_of(s));
  return number + expression_text(operand, operands);
}

std::string NanOriginFinder::loop_values_text() const {
  std::string out;
  for (UOp r : loop_nest_) out += (out.empty() ? "r" : ", r") + range_str(r) + "=" + std::to_string(loop_values_.at(r));
  return out;
}

}  // namespace tgc
