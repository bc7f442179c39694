#include "lib/bisect/stage_comparer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/run/repro_bundle.h"
#include "lib/run/run.h"
#include "lib/run/run_stages.h"
#include "lib/support/counted.h"
#include "lib/uop/facts.h"
#include "lib/validate/kernel_inputs.h"
#include "lib/validate/reference_runner.h"
#include "lib/validate/reference_sample.h"

namespace tgc {
namespace {

using Trial = RecordedTrial;

bool has_large_float(const NamedArray& a) {
  constexpr double kUsual = 16;
  if (!dtypes::is_float(a.array.dtype())) return false;
  for (int64_t i = 0; i < a.array.size(); i++)
    if (std::fabs(element_as_double(a.array, i)) > kUsual) return true;
  return false;
}

bool has_float_sums(UOp root) {
  return std::ranges::any_of(toposort(root), [](UOp u) {
    return dtypes::is_float(u.dtype().base()) && u.in({Op::ADD, Op::MUL, Op::SUB, Op::REDUCE, Op::FDIV, Op::WMMA});
  });
}

// Returns true if the kernel casts to floats, and computes floats only with the ops kExact, whose results IEEE 754
// defines to the last bit.
bool only_casts_floats(UOp root) {
  constexpr OpSet kExact{Op::CAST, Op::BITCAST, Op::WHERE, Op::NEG, Op::MAX, Op::TRUNC};
  const std::vector<UOp> nodes = toposort(root);
  auto is_cast = [](UOp u) { return u.is(Op::CAST) && dtypes::is_float(u.dtype().base()); };
  return std::ranges::any_of(nodes, is_cast) && std::ranges::none_of(nodes, [&](UOp u) {
    return u.in(ops::ALU | OpSet{Op::REDUCE, Op::WMMA}) && dtypes::is_float(u.dtype().base()) && !u.in(kExact);
  });
}

// Returns a graph like `root` that stores bounds of the magnitudes: for a sum, the sum of the operands' magnitudes; for
// a product, the product of the operands' magnitudes, where those below 1 count as 1. If a bound is far from overflow,
// no order of the operations overflows. Returns the empty UOp for a graph that stores no scalar floats, or that has
// AFTERs and so may read what it stores.
UOp magnitude_bound_graph(UOp root) {
  std::unordered_map<UOp, UOp> bounds;
  Substitution stored;
  auto absolute = [](UOp x) { return x.alu(Op::MAX, x.alu(Op::NEG)); };
  auto at_least_one = [](UOp x) { return x.alu(Op::MAX, x.graph().constant(x.dtype(), 1.0)); };
  for (UOp u : toposort(root)) {
    if (u.is(Op::STORE) && u.num_src() == 2 && bounds.contains(u.src(1)))
      stored.emplace_back(u, u.src(0).store(bounds.at(u.src(1))));
    if (u.is(Op::AFTER)) return {};
    if (!u.dtype().is_value() || !dtypes::is_float(u.dtype()) || u.dtype().count() != 1) continue;
    if (u.is_const() && u.is_invalid()) continue;
    auto of = [&](size_t i) {
      auto known = bounds.find(u.src(i));
      return known == bounds.end() ? u.src(i) : known->second;
    };
    UOp out;
    switch (u.op()) {
      case Op::ADD: case Op::SUB: out = of(0).alu(Op::ADD, of(1)); break;
      case Op::MUL: out = at_least_one(of(0)).alu(Op::MUL, at_least_one(of(1))); break;
      case Op::FDIV:
        out = at_least_one(of(0)).alu(Op::MUL, at_least_one(absolute(u.src(1).alu(Op::RECIPROCAL))));
        break;
      case Op::MULACC:
        out = at_least_one(of(0)).alu(Op::MUL, at_least_one(of(1))).alu(Op::ADD, of(2));
        break;
      case Op::MAX: out = of(0).alu(Op::MAX, of(1)); break;
      case Op::NEG: out = of(0); break;
      case Op::CAST: out = dtypes::is_float(u.src(0).dtype()) ? of(0).cast(u.dtype()) : absolute(u); break;
      case Op::WHERE: out = u.src(0).alu(Op::WHERE, of(1), of(2)); break;
      case Op::REDUCE: {
        std::vector<UOp> src(u.src().begin(), u.src().end());
        src[0] = u.arg().op() == Op::MUL ? at_least_one(of(0)) : of(0);
        out = u.with_src(src);
        break;
      }
      default:
        out = absolute(u);
        for (size_t i = 0; i < u.num_src() && u.in(ops::ALU); i++)  // keep an overflow of an operand
          if (bounds.contains(u.src(i))) out = out.alu(Op::ADD, of(i));
    }
    bounds.emplace(u, out);
  }
  return stored.empty() ? UOp() : substitute(root, stored);
}

// Returns true if rounding cannot explain the difference of two float arrays; always true for other dtypes.
// can_overflow(i) says whether another order of operations can overflow for element i.
template <class CanOverflow>
bool is_beyond_rounding(const Comparison& c, const Array& actual, const Array& expected, bool has_large_inputs,
                        CanOverflow can_overflow) {
  if (!dtypes::is_float(c.dtype)) return true;
  const int bytes = c.dtype.itemsize();
  const double tolerance = bytes >= 4 ? 1e-3 : bytes == 2 ? 3e-2 : 0.2;
  const bool is_half = c.dtype.scalar_kind() == Scalar::Float16;
  const double large = has_large_inputs ? 0 : bytes == 8 ? 1e150 : is_half ? 1e3 : bytes == 1 ? 100 : 1e18;
  for (int64_t i = 0; i < actual.size(); i++) {
    const double a = element_as_double(actual, i), e = element_as_double(expected, i);
    if (a == e || !std::isfinite(e) || (std::fabs(e) >= large && can_overflow(i))) continue;
    if (!std::isfinite(a) || std::fabs(a - e) > tolerance * std::max(std::fabs(a), std::fabs(e)) + c.tolerance.atol)
      return true;
  }
  return false;
}

// Returns numbers that are edge cases of rules, such as halves, and numbers near the constants with which the kernel
// compares.
std::vector<double> edge_numbers(UOp root) {
  std::vector<double> out{0.5,  1.5,  2.5,  -0.5, -1.5,    -2.5,    1,       2,     3,     -1,     -2,
                          -3,   5,    -7,   126.5, 127.25, -149.5,  65504,   65520, 70000, -70000, 2049,
                          2051, -4097, 1 + 0x1p-11, 1 + 0x3p-11};
  for (UOp u : toposort(root)) {
    if (!u.in({Op::CMPLT, Op::CMPNE, Op::MAX})) continue;
    for (UOp s : u.src())
      if (s.is(Op::CONST) && !s.is_invalid())
        if (const double c = s.arg().to_const().to_double(); std::isfinite(c))
          for (double d : {0.0, 1.0, -1.0}) out.push_back(c + d);
  }
  return out;
}

// Returns numbers of all magnitudes from 1 up to 2 to the power of the dtype's largest exponent / `part`: with part 2,
// products of two numbers do not overflow. `most_bits` limits the exponents.
std::vector<double> large_numbers(DType d, int part, int most_bits, FloatKind floats) {
  constexpr int kCount = 24;
  const bool is_float = dtypes::is_float(d);
  const int most = is_float ? (1 << (dtypes::finfo(d).exponent_bits - 1)) - 3 : std::min(8 * d.itemsize(), 53) - 2;
  const int exponents = std::min(most / part, most_bits);
  std::vector<double> out;
  for (int i = 0; i < kCount; i++) {
    const double number = std::ldexp(1 + (i * 5 % 8) / 8.0, exponents * i / (kCount - 1));
    out.push_back((i % 3 == 1 && floats == FloatKind::Normal ? -1 : 1) * (is_float ? number : std::trunc(number)));
  }
  return out;
}

// Returns the largest exponent of inputs. It is small where large ones show nothing: C leaves a cast to an integer that
// cannot represent the number undefined, and tinygrad's sine of a double is wrong for very large numbers.
int max_input_exponent(UOp root) {
  for (UOp u : toposort(root))
    if (u.is(Op::SIN) || (u.is(Op::CAST) && dtypes::is_float(u.src(0).dtype()) && dtypes::is_int(u.dtype().base())))
      return 24;
  return std::numeric_limits<int>::max();
}

// Sets the denormal numbers of 8-bit floats to zero, as tinygrad does where it emulates these dtypes
// (codegen/decomp/dtype.py:f2f).
void flush_denormals(Arrays& arrays) {
  for (NamedArray& a : arrays) {
    const DType d = a.array.dtype();
    if (!dtypes::is_float(d) || d.itemsize() != 1) continue;
    const int least = 1 << dtypes::finfo(d).mantissa_bits;
    for (uint8_t& bits : a.array.as<uint8_t>())
      if ((bits & 0x7F) < least) bits &= 0x80;
  }
}

VariableValues variables_at_bound(const Executable& kernel, VariableValues given, bool at_max) {
  for (const VariableSpec& v : kernel.variables()) given.try_emplace(v.name, at_max ? v.max : v.min);
  return given;
}

// Returns true if the arrays are equal to the last bit. As exceptions, all NaNs are equal, 0 equals -0, and a zero in
// `actual` equals a denormal number in `expected`.
bool are_identical(const Array& actual, const Array& expected) {
  if (actual.nbytes() != expected.nbytes()) return false;
  if (std::equal(actual.data(), actual.data() + actual.nbytes(), expected.data())) return true;
  const DType d = actual.dtype();
  if (!dtypes::is_float(d)) return false;
  const auto info = dtypes::finfo(d);
  const double least_normal = std::ldexp(1.0, 2 - (1 << (info.exponent_bits - 1)));
  for (int64_t i = 0; i < actual.size(); i++) {
    const double a = element_as_double(actual, i), e = element_as_double(expected, i);
    const bool is_flushed = a == 0 && std::fabs(e) < least_normal;
    if (a != e && !is_flushed && !(std::isnan(a) && std::isnan(e))) return false;
  }
  return true;
}

// Returns the graph with one RANGE for each loop. In the middle of a stage that replaces a loop's RANGE, some uses have
// another RANGE than the END. Replaces each RANGE that is open at `root` by an ended one of the same arg and size; if
// one has none, returns `root`.
UOp with_one_range_per_loop(UOp root) {
  Substitution same;
  const std::vector<UOp> nodes = toposort(root);
  const std::vector<UOp> open(ranges_of(root).begin(), ranges_of(root).end());
  for (UOp range : open) {
    const auto ended = std::ranges::find_if(nodes, [&](UOp u) {
      return u.is(Op::RANGE) && u.arg() == range.arg() && !std::ranges::count(open, u) &&
             u.vmax().as_int() == range.vmax().as_int();
    });
    if (ended == nodes.end()) return root;
    same.emplace_back(range, ended->cast(range.dtype()));
  }
  return same.empty() ? root : substitute(root, same);
}

std::vector<UOp> nodes_of(UOp root) { return toposort(root); }
std::span<const UOp> nodes_of(const std::vector<UOp>& list) { return list; }

}  // namespace

void StageComparer::make_trials() {
  // numbers of UOps that REF evaluates
  constexpr double kSmall = 1e6;
  constexpr double kLarge = 2e8, kTooLarge = 2e9;
  Executable kernel = std::move(Executable::make_for_ref(input_graph_.root).value_or_throw());
  const double work = work_of(input_graph_.root);
  is_large_ = work > kLarge;
  if (work > kTooLarge)
    throw Failure("the kernel is too large for REF: its AST evaluates about " + formatted("%.0e", work) + " UOps");
  TrialInputs inputs = make_trial_inputs(options_, input_graph_).value_or_throw();
  inputs.seed = options_.input.seed.value_or(0);
  KernelTrial trial(input_graph_.root, input_graph_.list, std::move(inputs), options_.device.ref_options_in_process());
  trial.begin_trial(kernel).value_or_throw();
  const Arrays& given = trial.file_arrays();
  Trial usual{
      .inputs = copy_arrays(trial.inputs()), .variables = trial.variables(), .has_given_inputs = !given.empty()};
  std::string file;
  if (given.empty()) flush_denormals(usual.inputs);
  Arrays expected = given_expected_arrays(options_, input_graph_, file).value_or_throw();
  if (expected.empty()) expected = std::move(run_graph(usual, input_graph_.root, true).value_or_throw());
  usual.expected = std::move(expected);
  if (usual.expected.empty()) throw Failure("nothing can be compared: the kernel stores no array");
  // a repro bundle may have the arrays of any kind of trial, so look for large values
  const bool is_of_bundle = input_graph_.read_report.repro && options_.input.arrays_file.empty();
  usual.has_wide_values = is_of_bundle && std::ranges::any_of(usual.inputs, has_large_float);
  has_float_sums_ = has_float_sums(input_graph_.root);
  trials_.push_back(std::move(usual));
  if ((given.empty() || plan_.should_redraw_inputs) && work <= kSmall) add_wide_trials(kernel, trial);
}

void StageComparer::add_wide_trials(const Executable& kernel, const KernelTrial& trial) {
  constexpr uint64_t kWide = 16;  // number of trials with inputs of all sizes; two of them have only one sign
  constexpr uint64_t kLarge = 3;
  constexpr uint64_t kEdges = 4;
  const Arrays none;
  const Arrays& kept = plan_.should_redraw_inputs ? none : trial.file_arrays();
  const InputDistribution& draw = *trial.distribution();
  const std::vector<double> edges = edge_numbers(input_graph_.root);
  const int most_bits = max_input_exponent(input_graph_.root);
  std::vector<InputSet> sets(kWide + kLarge + kEdges, InputSet::AllSizes);
  for (InputSet set : further_input_sets(input_graph_.root, draw))
    if (set != InputSet::AllSizes) sets.push_back(set);
  for (uint64_t i = 0; i < sets.size(); i++) {
    Trial wide{.inputs = copy_arrays(trials_[0].inputs), .has_wide_values = true};
    wide.has_large_values = i >= kWide && i < kWide + kLarge;
    wide.has_edge_cases = i >= kWide + kLarge && sets[i] == InputSet::AllSizes;
    const VariableSources drawn{.option_values = options_.input.variables, .seed = draw.seed + i};
    wide.variables = i < 2   ? variables_at_bound(kernel, options_.input.variables, i == 0)
                     : i % 2 ? chosen_values_of(choose_variables(kernel, drawn).value_or_throw())
                             : trial.variables();
    InputDistribution values = draw;
    values.seed += i;
    const auto widened = redraw_inputs(input_graph_.root, sets[i], values, kept, wide.inputs);
    for (NamedArray& a : wide.inputs) {
      const bool is_float = dtypes::is_float(a.array.dtype()), is_wide = widened.contains(a.name);
      const FloatKind floats = draw.float_kind_of(a.name);
      if (i < 2 && floats == FloatKind::Normal && is_wide) set_signs(a.array, i == 0 ? -1 : 1);
      const uint64_t turn = i - kWide;
      if (wide.has_large_values && is_wide)
        fill_from_pool(a.array, a.name, large_numbers(a.array.dtype(), 1 << turn, most_bits, floats), 0);
      if (wide.has_edge_cases && (is_wide || (is_float && !find_array(kept, a.name))))
        fill_from_pool(a.array, a.name, edges, turn - kLarge);
    }
    if (kept.empty()) flush_denormals(wide.inputs);
    auto done = run_graph(wide, input_graph_.root, true);
    if (!done) continue;
    wide.expected = std::move(*done);
    trials_.push_back(std::move(wide));
  }
}

template <class Graph>
Result<Arrays> StageComparer::run_graph(const Trial& t, const Graph& graph, bool is_ast) {
  report_.counts.num_runs++;
  const Arrays inputs =
      is_ast ? copy_arrays(t.inputs) : arrays_with_dtypes_of(t.inputs, buffers_of_nodes(nodes_of(graph)));
  auto done = ReferenceRunner(inputs, t.variables, options_.device.ref_options_in_process()).run_reference(graph);
  if (!done) return done.diag();
  return arrays_with_dtypes_of(done->outputs, buffers_of_nodes(toposort(input_graph_.root)));
}

namespace {

constexpr size_t kMaxReadElements = 4;

std::map<std::string, std::string> wrong_element(UOp ast, const RecordedTrial& t, const Comparison& c) {
  if (!c.first_difference) return {};
  const std::string at = "[" + std::to_string(c.first_difference->flat_index) + "]";
  std::map<std::string, std::string> out = {
      {"element", c.name + at}, {"before", c.first_difference->expected}, {"after", c.first_difference->actual}};
  const auto read = find_elements_read(ast, c.name, c.first_difference->flat_index, t.variables, kMaxReadElements);
  for (auto& [name, array] : t.inputs) {
    if (auto places = read.find(name); places != read.end()) {
      for (size_t i = 0; i < std::min(places->second.size(), kMaxReadElements); i++)
        if (const int64_t place = places->second[i]; place >= 0 && place < array.size())
          out[name + "[" + std::to_string(place) + "]"] = element_text(array, place);
      if (places->second.size() > kMaxReadElements) out[name + "[more]"] = "...";
    } else if (read.empty() && array.size() == c.num_elements && name != c.name) {
      out[name + at] = element_text(array, c.first_difference->flat_index);
    }
  }
  for (auto& [name, value] : t.variables) out[name] = std::to_string(value);
  return out;
}

}  // namespace

StageResult StageComparer::compare_results(const Trial& t, const Result<Arrays>& done) {
  if (!done) return done.diag().is_kernel_fault ? StageResult::Differs : StageResult::Unknown;
  if (is_exact_) {
    auto is_same = [&](const NamedArray& e) {
      const Array* a = find_array(*done, e.name);
      return a && are_identical(*a, e.array);
    };
    return std::ranges::all_of(t.expected, is_same) ? StageResult::Same : StageResult::Differs;
  }
  const ReferenceRunner ref(t.inputs, t.variables, options_.device.ref_options_in_process());
  Arrays settled;
  auto compared =
      ref.compare_arrays(input_graph_.root, *done, t.expected, options_.compare, Recheck::IfCheap, &settled);
  if (!compared) return StageResult::Unknown;
  for (size_t i = 0; i < compared->size(); i++) {
    const Comparison& c = (*compared)[i];
    if (c.has_passed()) continue;
    const Array& actual = *find_array(settled, c.name);
    auto can_overflow = [&](int64_t element) {
      if (!has_float_sums_) return false;
      const Array* most = find_array(magnitude_bounds(t), c.name);
      if (!most || !(most->dtype() == c.dtype)) return true;
      return !(element_as_double(*most, element) <
               std::ldexp(1.0, (1 << (dtypes::finfo(c.dtype).exponent_bits - 1)) - 4));
    };
    if (t.has_wide_values && !is_beyond_rounding(c, actual, t.expected[i].array, t.has_large_values, can_overflow))
      continue;
    report_.failure_text = c.text().substr(0, c.text().find('\n')),
    report_.wrong_element = wrong_element(input_graph_.root, t, c);
    return StageResult::Differs;
  }
  count_elements(t, *compared);
  return StageResult::Same;
}

void StageComparer::count_elements(const Trial& t, const std::vector<Comparison>& arrays) {
  counted_elements_[&t].update_element_counts(arrays);
  const BisectCounts& first = counted_elements_[&trials_.front()];
  BisectCounts sum;
  for (auto& [trial, counts] : counted_elements_)
    if (trial == &trials_.front() || !first.has_compared_elements()) sum.add_element_counts(counts);
  report_.counts.set_element_counts(sum);
}

const Arrays& StageComparer::magnitude_bounds(const Trial& t) {
  auto [known, is_new] = magnitude_bounds_.try_emplace(&t);
  if (!is_new) return known->second;
  const UOp graph = magnitude_bound_graph(input_graph_.root);
  auto done = graph ? run_graph(t, graph, true) : Result<Arrays>(Diag{"unknown"});
  if (done) known->second = std::move(*done);
  return known->second;
}

StageResult StageComparer::outcome_of_partial_graph(const Trial& t, UOp original) {
  const ImportedGraph* graph = imported_graph(original);
  if (graph && !ranges_of(graph->root).empty()) return StageResult::Unknown;
  return outcome(t, original);
}

StageResult StageComparer::outcome(const Trial& t, UOp original) {
  auto [known, is_new] = graph_outcomes_.try_emplace({&t, original.id()}, StageResult::Unknown);
  if (!is_new) return known->second;
  const ImportedGraph* graph = imported_graph(original);
  if (!graph) return StageResult::Unknown;
  return graph_outcomes_[{&t, original.id()}] = compare_results(t, run_graph(t, graph->root));
}

StageResult StageComparer::outcome(const Trial& t, const StageData& row) {
  StageResult result = StageResult::Unknown;
  if (row.list.empty()) {
    result = outcome(t, row.result);
  } else if (auto known = list_outcomes_.find({&t, &row}); known != list_outcomes_.end()) {
    result = known->second;
  } else {
    auto imported = import_graph(row.list.back(), row.list, input_graph_.graph->settings());
    if (imported) result = compare_results(t, run_graph(t, imported->list));
    else if (unknown_reason_.empty()) unknown_reason_ = imported.diag().message;
    list_outcomes_[{&t, &row}] = result;
  }
  if (result != StageResult::Unknown) compared_rows_.insert(&row);
  return result;
}

const ImportedGraph* StageComparer::imported_graph(UOp original) {
  auto [it, is_new] = imported_graphs_.try_emplace(original.id());
  if (is_new) {
    auto graph = import_graph(original, {}, input_graph_.graph->settings());
    if (graph) it->second = std::move(*graph), it->second.root = with_one_range_per_loop(it->second.root);
    else if (unknown_reason_.empty()) unknown_reason_ = graph.diag().message;
  }
  return it->second.graph ? &it->second : nullptr;
}

void StageComparer::set_expected_graph(Trial& t, UOp original) {
  const ImportedGraph* graph = imported_graph(original);
  if (!graph) return;
  auto done = run_graph(t, graph->root);
  if (!done) return;
  t.expected = std::move(*done);
  clear_outcomes();
}

void StageComparer::require_exact_results() {
  is_exact_ = true;
  clear_outcomes();
}

void StageComparer::clear_outcomes() { graph_outcomes_.clear(), list_outcomes_.clear(); }

bool StageComparer::must_be_exact() const { return only_casts_floats(input_graph_.root); }

}  // namespace tgc
