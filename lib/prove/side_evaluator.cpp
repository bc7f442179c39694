#include "lib/prove/side_evaluator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <unordered_map>

#include "lib/prove/encode.h"
#include "lib/rewrite/rewrite.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

namespace {

// Numbers of the first DEFINE_GLOBALs of inputs and outputs, which the isolated expressions do not use.
constexpr int64_t kFirstInputNumber = 2 * ExprIsolator::kLeafArrayNumber,
                  kFirstOutputNumber = 3 * ExprIsolator::kLeafArrayNumber;
constexpr int64_t kPointRangeAxis = 1 << 21;

// Rounding explains a difference of floats that is small relative to the larger one (kClearDifference) or absolutely
// (min_clear_difference()). `scale` is the largest magnitude of a leaf.
constexpr double kClearDifference = 0.1;
// Floats of 8 bits have few digits, and large ones are clamped. So their differences count only at points whose numbers
// are of moderate magnitude, and if hardly a digit is right.
constexpr double kClearDifferenceFp8 = 0.875, kMinMagnitudeFp8 = 0.25, kMaxMagnitudeFp8 = 4;
double min_clear_difference(DType d, double scale = 1) {
  return d.itemsize() >= 4 ? std::max(1e-4, 1e-6 * scale * scale) : 0.05 * scale * scale;
}

}  // namespace

SideEvaluator::SideEvaluator(const ExprIsolator& isolator, const ComparedValues& v, size_t points)
    : graph_(v.before.graph()), num_points_(int64_t(points)), dtype_(v.before.dtype().scalar()),
      is_sine_(v.before.is(Op::SIN)) {
  std::vector<UOp> roots;
  for (UOp root : {v.before, v.before_valid, v.after, v.after_valid})
    if (root) roots.push_back(root);
  add_inputs(isolator, roots);
  if (!can_run_) return;
  point_range_ = graph_.range(Const(num_points_), kPointRangeAxis, AxisType::LOOP);
  Substitution map;
  for (size_t i = 0; i < point_inputs_.size(); i++) {
    const PointInput& in = point_inputs_[i];
    DType stored = in.load.dtype();
    UOp memory = graph_.node(Op::DEFINE_GLOBAL, stored.ptr(num_points_), {}, kFirstInputNumber + int64_t(i));
    map.emplace_back(in.load, memory.index_ptr(point_range_).load());
    input_arrays_.emplace_back(stored, std::vector<int64_t>{num_points_});
  }
  auto with_inputs = [&](UOp u) { return u && !map.empty() ? substitute(u, map) : u; };
  const UOp before = with_inputs(v.before), after = with_inputs(v.after);
  const UOp before_valid = with_inputs(v.before_valid), after_valid = with_inputs(v.after_valid);
  // a power of two turns the rounding error of its exponent into a larger relative error
  for (UOp root : roots)
    if (op_in_backward_slice_with_self(root, {Op::EXP2, Op::POW})) has_enlarged_rounding_ = dtype_.itemsize() < 4;
  for (UOp root : roots)
    for (UOp u : toposort(root))
      has_fp8_rounding_ |= u.in(ops::ALU | OpSet{Op::CAST}) && dtypes::fp8s.contains(u.dtype());
  auto lane_of = [](UOp u, int lane) { return u.dtype().count() > 1 ? u.gep(lane) : u; };
  auto output_of = [&](UOp u, int lane) { return u ? add_output(lane_of(u, lane)) : kNoOutput; };
  for (int lane = 0; lane < v.before.dtype().count(); lane++)
    lane_outputs_.push_back({output_of(before, lane), output_of(after, lane), output_of(before_valid, lane),
                      output_of(after_valid, lane)});
  auto both = [&](UOp a, UOp b) { return !a ? b : !b ? a : a.alu(Op::AND, b); };
  UOp is_defined = both(definedness_of(before), before_valid ? definedness_of(before_valid) : UOp());
  if (is_defined) defined_output_ = add_output(is_defined);
  UOp is_after = both(definedness_of(after), after_valid ? definedness_of(after_valid) : UOp());
  if (is_after) after_defined_output_ = add_output(is_after);
  ref_program_.emplace(std::move(
      RefProgram::make_from_graph(graph_.sink(graph_.group(output_stores_).end(point_range_))).value_or_throw()));
}

void SideEvaluator::add_inputs(const ExprIsolator& isolator, std::span<const UOp> roots) {
  IntervalAnalysis intervals(isolator);
  std::map<uint32_t, std::set<uint32_t>> loads;
  std::set<uint32_t> in_loop;
  auto is_memory = [&](UOp u) { return u.is(Op::LOAD) && !intervals.leaf_of_load(u); };
  for (UOp root : roots)
    for (UOp u : toposort(root)) {
      const bool is_number = u.is_const() && u.dtype().is(Scalar::Index) && !u.is_invalid();
      if (is_number && u.arg().to_const().to_int().bit_length() > 62) can_run_ = false;  // too large for REF's 64 bits
      if (u.is(Op::RANGE) && u != isolator.point_range()) in_loop.insert(u.id());
      for (UOp s : u.src())
        if (in_loop.contains(s.id())) in_loop.insert(u.id());
      if (!is_memory(u)) continue;
      if (!u.src(0).is(Op::INDEX) || u.dtype().count() != 1) return void(can_run_ = false);
      loads[u.src(0).src(0).id()].insert(u.id());
    }
  auto is_element = [&](UOp u) {
    return is_memory(u) && loads[u.src(0).src(0).id()].size() == 1 && !in_loop.contains(u.id());
  };
  // do not visit the addresses of elements that are inputs: their values matter only for loads of the same memory, and
  // there is no other one
  std::vector<UOp> stack(roots.rbegin(), roots.rend());
  std::set<uint32_t> seen;
  while (!stack.empty()) {
    UOp u = stack.back();
    stack.pop_back();
    if (!seen.insert(u.id()).second) continue;
    const bool is_leaf = u.is(Op::LOAD) && intervals.leaf_of_load(u);
    if (is_leaf || is_element(u)) {
      add_input(isolator, u);
      continue;
    }
    if (u.is(Op::LOAD)) {
      UOp memory = u.src(0).src(0);
      const int64_t number = memory.arg().small_int();
      if (std::ranges::find(random_memories_, number, &std::pair<int64_t, Array>::first) == random_memories_.end())
        random_memories_.emplace_back(number, Array(memory.dtype().base(), {memory.dtype().size()}));
    }
    for (size_t i = u.num_src(); i-- > 0;) stack.push_back(u.src(i));
  }
}

void SideEvaluator::add_input(const ExprIsolator& isolator, UOp u) {
  IntervalAnalysis intervals(isolator);
  PointInput in{.load = u, .dtype = u.dtype()};
  if (const ExprLeaf* leaf = intervals.leaf_of_load(u)) {
    in.leaf = leaf->node, in.dtype = leaf->node.dtype().scalar();
    in.name = name_of_leaf(leaf->node);
  } else {
    in.name = "data" + std::to_string(u.src(0).src(0).arg().small_int());
  }
  if (dtypes::is_int(in.dtype)) {
    Interval i = intervals.interval_of(u, 0);
    if (!i.lower_bound || !i.upper_bound) return void(can_run_ = false);
    in.min_value = *i.lower_bound, in.max_value = *i.upper_bound;
  }
  point_inputs_.push_back(std::move(in));
}

size_t SideEvaluator::add_output(UOp value) {
  const size_t number = output_arrays_.size();
  const DType d = dtypes::is_float(value.dtype()) ? dtypes::float64 : dtypes::int64;
  UOp memory = graph_.node(Op::DEFINE_GLOBAL, d.ptr(num_points_), {}, kFirstOutputNumber + int64_t(number));
  output_stores_.push_back(memory.index_ptr(point_range_).store(value.cast(d)));
  output_arrays_.emplace_back(d, std::vector<int64_t>{num_points_});
  return number;
}

// Returns a bool that is true only where the op of `u` is defined for its operands; null if it always is, or for a
// vector.
UOp SideEvaluator::op_definedness(UOp u) const {
  const DType d = u.dtype();
  auto number = [&](double v) { return graph_.constant(dtypes::float64, Const(v)); };
  auto between = [&](double low, UOp x, double high) { return number(low).lt(x).alu(Op::AND, x.lt(number(high))); };
  auto real = [](UOp x) { return x.cast(dtypes::float64); };
  if (d.count() > 1 || !dtypes::is_int(d)) return {};
  const bool is_index = d.is(Scalar::Index);  // an index is unbounded, so it is undefined where REF's 64 bits overflow
  switch (u.op()) {
    case Op::IDIV:
    case Op::MOD: return u.src(1).ne(u.src(1).const_like(Const(int64_t(0))));
    case Op::SHL:
      if (is_index)
        return between(-1, real(u.src(1)), 32).alu(Op::AND, between(-0x1p30, real(u.src(0)), 0x1p30));
      return between(-1, real(u.src(1)), d.bitsize());
    case Op::SHR: return between(-1, real(u.src(1)), is_index ? 64 : d.bitsize());
    case Op::CAST:
      if (is_index) return between(-0x1p62, real(u.src(0)), 0x1p62);
      if (!dtypes::is_float(u.src(0).dtype())) return {};
      return between(dtypes::min(d).to_double() - 1, real(u.src(0)), dtypes::max(d).to_double() + 1);
    case Op::ADD:
    case Op::SUB:
    case Op::MUL:
      if (!is_index) return {};
      return between(-0x1p62, real(u.src(0)).alu(u.op(), real(u.src(1))), 0x1p62);
    default: return {};
  }
}

UOp SideEvaluator::definedness_of(UOp root) {
  std::unordered_map<uint32_t, UOp> known;
  auto both = [](UOp a, UOp b) { return !a || a == b ? b : !b ? a : a.alu(Op::AND, b); };
  const UOp always = graph_.constant(dtypes::bool_, Const(true));
  for (UOp u : toposort(root, [](UOp u) { return !u.is(Op::LOAD); })) {
    auto of = [&](UOp s) { return known.contains(s.id()) ? known[s.id()] : UOp(); };
    UOp out;
    if (u.is(Op::WHERE) && u.src(0).dtype().count() == 1) {
      UOp yes = of(u.src(1)), no = of(u.src(2));
      if (yes || no) out = u.src(0).where(yes ? yes : always, no ? no : always);
      out = both(of(u.src(0)), out);
    } else if (u.is(Op::REDUCE) && of(u.src(0))) {
      std::vector<UOp> src(u.src().begin(), u.src().end());
      src[0] = of(u.src(0)).logical_not().cast(dtypes::int64);
      UOp terms = graph_.node(Op::REDUCE, dtypes::int64, src, Arg(Op::ADD));
      out = terms.ne(Const(int64_t(0))).logical_not();
    } else {
      for (UOp s : u.src()) out = both(out, of(s));
      out = both(out, op_definedness(u));
    }
    known[u.id()] = out;
  }
  return known[root.id()];
}

void write_element(Array& a, size_t i, const Const& c) {
  const DType d = a.dtype();
  uint8_t* to = a.data() + int64_t(i) * d.itemsize();
  auto copy = [&](auto v) { std::memcpy(to, &v, sizeof v); };
  if (dtypes::is_float(d) && !c.is_int()) {
    const double v = c.to_double();
    if (d.is(Scalar::Float64)) copy(v);
    else if (d.is(Scalar::Float32)) copy(float(v));
    else if (d.is(Scalar::Float16)) copy(float_to_half_bits(v));
    else if (d.is(Scalar::BFloat16)) copy(float_to_bf16_bits(float(v)));
    else copy(float_to_fp8(v, d.scalar_kind()));
  } else {
    const uint64_t bits = dtypes::is_bool(d) ? uint64_t(c.truthy()) : c.to_int().low_64_bits();
    std::memcpy(to, &bits, size_t(d.itemsize()));
  }
}

void SideEvaluator::fill_input(size_t input, std::span<const Point> points) {
  for (size_t i = 0; i < points.size(); i++) write_element(input_arrays_[input], i, points[i][input]);
}

// Fills the random arrays: with small numbers in the first run, and with integers of all magnitudes in later runs.
void SideEvaluator::fill_memories() {
  std::mt19937_64 random(++num_runs_);
  for (auto& [number, a] : random_memories_) {
    const DType d = a.dtype();
    for (size_t i = 0; i < size_t(a.size()); i++) {
      const uint64_t r = random();
      if (dtypes::is_bool(d)) write_element(a, i, Const(bool(r & 1)));
      else if (dtypes::is_float(d)) write_element(a, i, Const(double(int64_t(r % 65) - 32) / 4));
      else write_element(a, i, Const(int64_t(num_runs_ == 1 ? r % 8 : r)));
    }
  }
}

// Returns the kind of the difference at point `i`; nullopt if there is none, if rounding explains it, or if `before` is
// Invalid there and may become any value.
std::optional<Counterexample::Kind> SideEvaluator::output_difference(const LaneOutputs& lane, size_t i) const {
  using Kind = Counterexample::Kind;
  const bool before_valid = is_true_at(lane.before_valid, i), after_valid = is_true_at(lane.after_valid, i);
  if (!before_valid && !(after_valid && dtype_.is(Scalar::Index))) return std::nullopt;
  if (before_valid != after_valid) return Kind::Value;
  if (!dtypes::is_float(dtype_))
    return output_integer(lane.before, i) != output_integer(lane.after, i) ? std::optional(Kind::Value) : std::nullopt;
  const double a = output_arrays_[lane.before].as<double>()[i], b = output_arrays_[lane.after].as<double>()[i];
  if (std::isnan(a) && std::isnan(b)) return std::nullopt;
  if (a == b) return std::signbit(a) != std::signbit(b) ? std::optional(Kind::Special) : std::nullopt;
  if (!std::isfinite(a) || !std::isfinite(b)) return Kind::Special;
  const double apart = std::fabs(a - b);
  if (has_fp8_rounding_ && (largest_magnitude_ > kMaxMagnitudeFp8 || least_magnitude_ < kMinMagnitudeFp8))
    return std::nullopt;
  const double clear = has_fp8_rounding_        ? kClearDifferenceFp8
                       : has_enlarged_rounding_ ? 5 * kClearDifference
                                                : kClearDifference;
  const bool is_clear = apart >= min_clear_difference(dtype_, largest_magnitude_) &&
                        apart >= clear * std::max(std::fabs(a), std::fabs(b));
  return is_clear ? std::optional(Kind::Value) : std::nullopt;
}

std::vector<std::optional<Counterexample::Kind>> SideEvaluator::find_differences(std::span<const Point> points) {
  for (size_t i = 0; i < point_inputs_.size(); i++) fill_input(i, points);
  fill_memories();
  std::vector<RefBuffer> buffers;
  for (auto& [number, a] : random_memories_) buffers.push_back({number, a.data(), a.nbytes()});
  for (size_t i = 0; i < input_arrays_.size(); i++)
    buffers.push_back({kFirstInputNumber + int64_t(i), input_arrays_[i].data(), input_arrays_[i].nbytes()});
  for (size_t i = 0; i < output_arrays_.size(); i++)
    buffers.push_back({kFirstOutputNumber + int64_t(i), output_arrays_[i].data(), output_arrays_[i].nbytes()});
  ref_program_->run(buffers).value_or_throw();
  std::vector<std::optional<Counterexample::Kind>> out(points.size());
  for (size_t i = 0; i < points.size(); i++) {
    if (!is_true_at(defined_output_, i)) continue;
    const bool is_after = is_true_at(after_defined_output_, i);
    largest_magnitude_ = random_memories_.empty() ? 1 : 8, least_magnitude_ = 1;
    for (const Const& c : points[i]) {
      if (is_sine_ || !c.is_float() || !std::isfinite(c.as_float())) continue;
      const double magnitude = std::fabs(c.as_float());
      largest_magnitude_ = std::max(largest_magnitude_, magnitude);
      if (magnitude != 0) least_magnitude_ = std::min(least_magnitude_, magnitude);
    }
    for (const LaneOutputs& lane : lane_outputs_)
      // if only `after` is undefined, a difference counts only if `after` is Invalid
      if (auto kind = output_difference(lane, i); kind && (is_after || !is_true_at(lane.after_valid, i)))
        if (out[i] != Counterexample::Kind::Value) out[i] = kind;
  }
  return out;
}

double SideEvaluator::relative_error(size_t i, double least) const {
  if (!dtypes::is_float(dtype_) || !is_true_at(defined_output_, i) || !is_true_at(after_defined_output_, i)) return 0;
  double out = 0;
  const double floor = least < 0 ? min_clear_difference(dtype_) : least;
  for (const LaneOutputs& lane : lane_outputs_) {
    if (!is_true_at(lane.before_valid, i) || !is_true_at(lane.after_valid, i)) continue;
    const double a = output_arrays_[lane.before].as<double>()[i], b = output_arrays_[lane.after].as<double>()[i];
    if (std::isfinite(a) && std::isfinite(b) && a != b)
      out = std::max(out, std::fabs(a - b) / std::max({std::fabs(a), std::fabs(b), floor}));
  }
  return out;
}

double SideEvaluator::units_in_last_place(size_t i) const {
  if (!dtypes::is_float(dtype_) || !is_true_at(defined_output_, i) || !is_true_at(after_defined_output_, i)) return 0;
  const auto info = dtypes::finfo(dtype_);
  const int least_exponent = 2 - (1 << (info.exponent_bits - 1));
  double out = 0;
  for (const LaneOutputs& lane : lane_outputs_) {
    if (!is_true_at(lane.before_valid, i) || !is_true_at(lane.after_valid, i)) continue;
    const double a = output_arrays_[lane.before].as<double>()[i], b = output_arrays_[lane.after].as<double>()[i];
    if (!std::isfinite(a) || !std::isfinite(b) || a == b) continue;
    const int exponent = std::max(std::ilogb(std::max(std::fabs(a), std::fabs(b))), least_exponent);
    out = std::max(out, std::ldexp(std::fabs(a - b), info.mantissa_bits - exponent));
  }
  return out;
}

double SideEvaluator::rounding_error() const {
  if (dtype_.is(Scalar::Float64)) return 1e-15;
  return dtype_.is(Scalar::Float32) ? 5e-7 : dtype_.is(Scalar::Float16) ? 2e-3 : 0.02;
}

Counterexample SideEvaluator::counterexample_at(std::span<const Point> points, size_t i,
                                                Counterexample::Kind kind) const {
  Counterexample out{.kind = kind};
  for (size_t k = 0; k < point_inputs_.size(); k++) {
    const bool is_bits = dtypes::is_float(point_inputs_[k].dtype) && points[i][k].is_int();
    out.point[point_inputs_[k].name] = (is_bits ? "bits " : "") + points[i][k].str();
  }
  // show small arrays completely, so that a program can use them
  constexpr int64_t kShown = 8, kMostWhole = 16;
  for (auto& [number, a] : random_memories_) {
    std::string& text = out.point["data" + std::to_string(number)];
    const int64_t shown = a.size() <= kMostWhole ? a.size() : kShown;
    for (int64_t k = 0; k < shown; k++) text += (k ? ", " : "[") + element_text(a, k);
    text += a.size() > shown ? ", ...]" : "]";
  }
  auto lane =
      std::ranges::find_if(lane_outputs_, [&](const LaneOutputs& l) { return output_difference(l, i) == kind; });
  if (lane == lane_outputs_.end()) lane = lane_outputs_.begin();
  auto text = [&](size_t output, size_t valid) {
    if (!is_true_at(valid, i)) return std::string("Invalid");
    return dtypes::is_float(dtype_) ? Arg(output_arrays_[output].as<double>()[i]).repr()
                                    : Arg(output_integer(output, i)).repr();
  };
  out.point["before"] = text(lane->before, lane->before_valid);
  out.point["after"] = text(lane->after, lane->after_valid);
  return out;
}

std::optional<Counterexample> SideEvaluator::first_difference(std::span<const Point> points,
                                                              std::optional<Counterexample::Kind> kind) {
  auto all = find_differences(points);
  auto it = std::ranges::find_if(all, [&](auto k) { return k && (!kind || k == kind); });
  return it == all.end() ? std::nullopt : std::optional(counterexample_at(points, size_t(it - all.begin()), **it));
}

namespace {

bool is_bool_constant(UOp u, bool value) {
  return u.is_const() && dtypes::is_bool(u.dtype()) && u.arg().to_const().truthy() == value;
}

// A term of a sum that is 0 unless an equality holds.
struct GatedTerm {
  UOp loop_side = {}, index_side = {};
  UOp value = {};                       // null if the term has another form
  bool is_product = false;
};

GatedTerm gated_term(UOp term) {
  GatedTerm out;
  UOp test;
  bool is_negated = false;  // the term is not 0 if the test is false
  if (term.is(Op::WHERE)) {
    auto is_zero = [](UOp u) {
      return u.is_const() && !u.is_invalid() && py_equal(u.arg().to_const(), Const(int64_t(0)));
    };
    is_negated = is_zero(term.src(1));
    if (!is_negated && !is_zero(term.src(2))) return {};
    test = term.src(0), out.value = term.src(is_negated ? 2 : 1);
  } else if (term.is(Op::MUL)) {
    auto is_gate = [](UOp u) { return u.is(Op::CAST) && dtypes::is_bool(u.src(0).dtype()); };
    for (UOp factor : split_uop(term, Op::MUL))
      if (!test && is_gate(factor)) test = factor.src(0);
      else out.value = out.value ? out.value * factor : factor;
    if (!test || !out.value) return {};
    out.is_product = true;
  } else {
    return {};
  }
  for (; test.is(Op::CMPNE) && is_bool_constant(test.src(1), true); test = test.src(0)) is_negated = !is_negated;
  if (!test.is(is_negated ? Op::CMPNE : Op::CMPEQ)) return {};
  out.loop_side = test.src(0), out.index_side = test.src(1);
  return out;
}

// Returns true if the value reads shared memory or registers, or has an infinite or NaN constant.
bool may_be_nan_or_infinite(UOp value) {
  return std::ranges::any_of(toposort(value), [](UOp u) {
    if (u.in({Op::DEFINE_LOCAL, Op::DEFINE_REG})) return true;
    return u.is(Op::CONST) && u.arg().is_float() && !std::isfinite(u.arg().to_const().as_float());
  });
}

}  // namespace

SelectedTerm select_term(UOp before) {
  constexpr OpSet kValues =
      ops::ALU | ops::Defines | OpSet{Op::CONST, Op::CAST, Op::INDEX, Op::LOAD, Op::RANGE, Op::SPECIAL};
  if (!before.is(Op::REDUCE) || !before.arg().is(Op::ADD) || before.num_src() != 2) return {};
  const UOp loop = before.src(1), term = before.src(0);
  if (!loop.is(Op::RANGE) || !loop.src(0).is_const() || !loop.src(0).arg().is_int()) return {};
  const int64_t size = loop.src(0).arg().as_int().to_int64().value_or(0);
  if (size <= 0 || term.dtype() != before.dtype() || term.dtype().count() != 1) return {};
  const GatedTerm gated = gated_term(term);
  if (!gated.value) return {};
  const bool needs_finite_terms = gated.is_product && dtypes::is_float(term.dtype());
  if (needs_finite_terms && may_be_nan_or_infinite(gated.value)) return {};
  auto is_index = [&](UOp u) {
    for (; u.is(Op::CAST); u = u.src(0))
      if (!dtypes::is_int(u.dtype()) || dtypes::max(u.dtype()).to_int() < Int(size - 1)) return false;
    return u == loop;
  };
  const bool is_first = is_index(gated.loop_side);
  if (!is_first && !is_index(gated.index_side)) return {};
  const UOp index = is_first ? gated.index_side : gated.loop_side;
  if (!dtypes::is_int(index.dtype()) || index.is_invalid() || in_backward_slice_with_self(index, loop)) return {};
  for (UOp u : toposort(gated.value))
    if (!u.in(kValues)) return {};
  const UOp at = index.cast(dtypes::index), zero = term.const_like(Const(int64_t(0)));
  const UOp selected = substitute(gated.value, {{loop, at.cast(loop.dtype())}});
  return {.value = (at.ge(0) & at.lt(size)).where(selected, zero), .needs_finite_terms = needs_finite_terms};
}

}  // namespace tgc
