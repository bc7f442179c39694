#include "lib/validate/reference_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/runtime/ref/ref.h"
#include "lib/support/deadline.h"
#include "lib/support/limits.h"
#include "lib/uop/graph.h"
#include "lib/validate/perturb_rounding.h"
#include "lib/validate/reference_sample.h"
#include "lib/validate/rounding_effect.h"

namespace tgc {
namespace {

// By name of a stored array: for each element, true if the element depends on rounding.
using ElementFlags = std::vector<std::pair<std::string, std::vector<bool>>>;

// Adds the flags of all stored arrays to `out`: an element depends on rounding if a perturbed run changes it
// by more than the tolerance.
void find_rounding_sensitive_elements(const ReferenceRunner& ref, UOp kernel, ElementFlags& out) {
  Graph graph(kernel.graph().settings());
  UOp root = copy_into(graph, kernel);
  auto exact = ref.run_reference(root);
  if (!exact) return;
  for (const NamedArray& a : exact->outputs) out.emplace_back(a.name, std::vector<bool>(size_t(a.array.size())));
  for (int way = 0; way < kNumPerturbations && !current_deadline().is_over(); way++) {
    auto perturbed = ref.run_reference(perturb_rounding(root, way));
    if (!perturbed) continue;
    for (size_t i = 0; i < std::min(perturbed->outputs.size(), out.size()); i++) {
      const Array &a = perturbed->outputs[i].array, &e = exact->outputs[i].array;
      auto differs = std::move(differing_elements(a, e, CompareOptions().tolerance_for(root, e)).value_or_throw());
      for (size_t k = 0; k < differs.size(); k++)
        if (differs[k]) out[i].second[k] = true;
    }
  }
}

Array with_expected_elements(const Array& actual, const Array& expected, const std::vector<bool>& which) {
  Array out = actual.copy();
  auto item = size_t(out.dtype().itemsize());
  for (size_t i = 0; i < which.size(); i++)
    if (which[i]) std::memcpy(out.data() + i * item, expected.data() + i * item, item);
  return out;
}

}  // namespace

bool is_recheck_cheap(UOp root, const std::vector<Comparison>& compared) {
  constexpr double kCheap = 1e6;
  bool few = std::ranges::all_of(compared, [](const Comparison& c) { return 10 * c.num_different <= c.num_elements; });
  return few || work_of(root) <= kCheap;
}

Result<Arrays> ReferenceRunner::inputs_for_kernel(const Executable& kernel) const {
  return make_input_arrays(kernel.buffers(), input_arrays_, "", missing_inputs_);
}

Result<ExecutionResult> ReferenceRunner::run_reference(Result<Executable> kernel) const {
  if (!kernel) return kernel.diag();
  auto inputs = inputs_for_kernel(*kernel);
  if (!inputs) return inputs.diag();
  return execute_kernel(*kernel, *make_ref_device(), *inputs, variable_values_, execute_options_);
}

Result<std::vector<Comparison>> ReferenceRunner::compare_arrays(UOp root, const Arrays& actual, const Arrays& expected,
                                                                const CompareOptions& options, Recheck recheck,
                                                                Arrays* settled) const {
  return catch_failures([&] {
    Arrays own;
    Arrays& rest = settled ? *settled : own;
    rest = copy_arrays(actual);
    auto out = std::move(compare_outputs(root, actual, expected, options).value_or_throw());
    auto all_passed = [&] { return std::ranges::all_of(out, &Comparison::has_passed); };
    if (all_passed()) return out;
    const bool rechecks = recheck == Recheck::Always || (recheck == Recheck::IfCheap && is_recheck_cheap(root, out));
    if (!rechecks && !options.should_accept_rounding) return out;
    const double seconds = execute_options_.timeout_seconds;
    const DeadlineScope scope(seconds > 0 ? seconds : double(limit_value(Limit::RefSeconds)));
    auto done = catch_failures([&] {
      if (rechecks) leave_out_sensitive_elements(root, expected, options, out, rest);
      if (!options.should_accept_rounding || all_passed()) return Unit{};
      RoundingEffect effect(*this, root, expected);
      if (!effect.are_differences_explained(actual, rest)) return effect.set_explained_elements(rest), Unit{};
      for (Comparison& c : out) c.num_explained_by_rounding = std::exchange(c.num_different, 0);
      return Unit{};
    });
    const bool is_cut = current_deadline().is_over();
    if (!done && !is_cut) throw Failure(done.diag());
    for (Comparison& c : out) c.is_recheck_incomplete = is_cut && !c.has_passed();
    return out;
  });
}

void ReferenceRunner::leave_out_sensitive_elements(UOp root, const Arrays& expected, const CompareOptions& options,
                                                   std::vector<Comparison>& out, Arrays& settled) const {
  ElementFlags sensitive;
  find_rounding_sensitive_elements(*this, root, sensitive);
  for (size_t i = 0; i < out.size(); i++) {
    const auto& [name, e] = expected[i];
    auto flags = std::ranges::find(sensitive, name, &ElementFlags::value_type::first);
    if (out[i].has_passed() || flags == sensitive.end()) continue;
    Array& array = std::ranges::find(settled, name, &NamedArray::name)->array;
    array = with_expected_elements(array, e, flags->second);
    const int64_t all = out[i].num_different;
    out[i] = std::move(tgc::compare_arrays(name, array, e, options.tolerance_for(root, e)).value_or_throw());
    out[i].num_left_out = all - out[i].num_different;
  }
}

}  // namespace tgc
