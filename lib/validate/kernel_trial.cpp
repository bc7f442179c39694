#include "lib/validate/kernel_trial.h"

#include <algorithm>

#include "lib/runtime/npz.h"

namespace tgc {

Status take_expected_arrays(Arrays& expected, const Executable& kernel, const std::string& file) {
  return catch_failures([&] {
    if (expected.empty()) throw Failure(Diag{.message = "the file has no arrays to compare with", .file = file});
    for (NamedArray& e : expected) {
      auto spec = std::ranges::find_if(kernel.buffers(), [&](const BufferSpec& b) { return b.name() == e.name; });
      if (spec == kernel.buffers().end() || !spec->is_written) {
        std::string stores;
        for (const BufferSpec& b : kernel.buffers())
          if (b.is_written) stores += (stores.empty() ? "" : ", ") + b.name();
        throw Failure(Diag{.message = "the kernel stores no array '" + e.name + "'", .file = file, .expected = stores});
      }
      auto same = reinterpret_raw_bits(std::move(e.array), spec->dtype, e.name);
      if (!same || (spec->num_elements >= 0 && same->size() != spec->num_elements))
        throw Failure(Diag{.message = e.name + (same ? " is " + same->describe() : ": " + same.diag().message),
                           .file = file,
                           .expected = spec->describe()});
      e.array = std::move(*same);
    }
    for (const BufferSpec& b : kernel.buffers())
      if (b.is_written && !find_array(expected, b.name()))
        throw Failure(Diag{.message = "the file lacks '" + b.name() + "', which the kernel stores", .file = file});
    return Unit{};
  });
}

KernelTrial::KernelTrial(UOp root, std::span<const UOp> list, TrialInputs given, const ExecuteOptions& ref)
    : root_(root), linear_list_(list), given_inputs_(std::move(given)), ref_options_(ref) {
  if (given_inputs_.seed) input_distribution_ = make_input_distribution(root, *given_inputs_.seed);
}

Status KernelTrial::begin_trial(const Executable& kernel) {
  return catch_failures([&] {
    const VariableSources from{.option_values = given_inputs_.variables,
                               .file_arrays = &given_inputs_.arrays,
                               .recorded_values = given_inputs_.recorded_variables,
                               .seed = given_inputs_.seed};
    ChosenVariables chosen = choose_variables(kernel, from).value_or_throw();
    kernel.variable_arguments(chosen_values_of(chosen)).value_or_throw();
    begin_trial(std::move(chosen), std::move(make_input_arrays(kernel.buffers(), given_inputs_.arrays,
                                                               given_inputs_.arrays_file, input_distribution_)
                                                 .value_or_throw()));
    return Unit{};
  });
}

void KernelTrial::begin_trial(ChosenVariables chosen, Arrays inputs) {
  chosen_variables_ = std::move(chosen), input_arrays_ = std::move(inputs);
  variable_values_ = chosen_values_of(chosen_variables_);
}

bool KernelTrial::has_drawn_arrays(const Executable& kernel) const {
  return input_distribution_ && std::ranges::any_of(kernel.buffers(), [&](const BufferSpec& b) {
           return b.is_read && !find_array(given_inputs_.arrays, b.name());
         });
}

Result<Arrays> KernelTrial::inputs_for_kernel(const Executable& kernel) const {
  Arrays known = copy_arrays(input_arrays_);
  for (const BufferSpec& b : kernel.buffers()) {
    const Array* given = find_array(known, b.name()) ? nullptr : find_array(given_inputs_.arrays, b.name());
    if (given) known.push_back({b.name(), given->copy()});
  }
  return make_input_arrays(kernel.buffers(), known, given_inputs_.arrays_file, input_distribution_);
}

Result<Arrays> KernelTrial::inputs_of(InputSet set) const {
  return catch_failures([&] {
    const Executable kernel = std::move(Executable::make_for_ref(root_).value_or_throw());
    Arrays out = std::move(
        make_input_arrays(kernel.buffers(), given_inputs_.arrays, given_inputs_.arrays_file, input_distribution_)
            .value_or_throw());
    if (!input_distribution_ || redraw_inputs(root_, set, *input_distribution_, given_inputs_.arrays, out).empty())
      out.clear();
    return out;
  });
}

Result<ExecutionResult> KernelTrial::run_reference() const {
  return linear_list_.empty() ? reference_runner().run_reference(root_)
                              : reference_runner().run_reference(linear_list_);
}

Result<std::vector<Comparison>> KernelTrial::compare_arrays(const Arrays& actual, const Arrays& expected,
                                                            const CompareOptions& options, Recheck recheck,
                                                            Arrays* settled) const {
  return reference_runner().compare_arrays(root_, actual, expected, options,
                                           linear_list_.empty() ? recheck : Recheck::Never, settled);
}

}  // namespace tgc
