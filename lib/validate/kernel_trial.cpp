#include "lib/validate/kernel_trial.h"

#include <algorithm>

#include "lib/runtime/npz.h"

namespace tgc {

Status take_expected(Arrays& expected, const Executable& kernel, const std::string& file) {
  return catch_failures([&] {
    if (expected.empty()) throw Failure(Diag{.message = "the file has no arrays to compare with", .file = file});
    for (NamedArray& e : expected) {
      auto spec = std::ranges::find_if(kernel.buffers(), [&](const BufferSpec& b) { return b.name() == e.name; });
      if (spec == kernel.buffers().end() || !spec->written) {
        std::string stores;
        for (const BufferSpec& b : kernel.buffers())
          if (b.written) stores += (stores.empty() ? "" : ", ") + b.name();
        throw Failure(Diag{.message = "the kernel stores no array '" + e.name + "'", .file = file, .expected = stores});
      }
      auto same = with_dtype_of_bits(std::move(e.array), spec->dtype, e.name);
      if (!same || (spec->size >= 0 && same->size() != spec->size))
        throw Failure(Diag{.message = e.name + (same ? " is " + same->describe() : ": " + same.diag().message),
                           .file = file,
                           .expected = spec->describe()});
      e.array = std::move(*same);
    }
    for (const BufferSpec& b : kernel.buffers())
      if (b.written && !find_array(expected, b.name()))
        throw Failure(Diag{.message = "the file lacks '" + b.name() + "', which the kernel stores", .file = file});
    return Unit{};
  });
}

KernelTrial::KernelTrial(UOp root, std::span<const UOp> list, TrialInputs given, const ExecuteOptions& ref)
    : root_(root), list_(list), given_(std::move(given)), ref_(ref) {
  if (given_.seed) draw_ = input_distribution(root, *given_.seed);
}

Status KernelTrial::begin(const Executable& kernel) {
  return catch_failures([&] {
    const VariableSources from{.options = given_.variables, .arrays = &given_.arrays, .recorded = given_.recorded,
                               .seed = given_.seed};
    ChosenVariables chosen = choose_variables(kernel, from).value_or_throw();
    kernel.arguments(values_of(chosen)).value_or_throw();
    begin(std::move(chosen),
          std::move(input_arrays(kernel.buffers(), given_.arrays, given_.file, draw_).value_or_throw()));
    return Unit{};
  });
}

void KernelTrial::begin(ChosenVariables chosen, Arrays inputs) {
  chosen_ = std::move(chosen), inputs_ = std::move(inputs);
  variables_ = values_of(chosen_);
}

bool KernelTrial::draws(const Executable& kernel) const {
  return draw_ && std::ranges::any_of(kernel.buffers(), [&](const BufferSpec& b) {
           return b.read && !find_array(given_.arrays, b.name());
         });
}

Result<Arrays> KernelTrial::inputs_for(const Executable& kernel) const {
  Arrays known = copy_of(inputs_);
  for (const BufferSpec& b : kernel.buffers()) {
    const Array* given = find_array(known, b.name()) ? nullptr : find_array(given_.arrays, b.name());
    if (given) known.push_back({b.name(), given->copy()});
  }
  return input_arrays(kernel.buffers(), known, given_.file, draw_);
}

Result<Arrays> KernelTrial::inputs_of(InputSet set) const {
  return catch_failures([&] {
    const Executable kernel = std::move(Executable::for_ref(root_).value_or_throw());
    Arrays out = std::move(input_arrays(kernel.buffers(), given_.arrays, given_.file, draw_).value_or_throw());
    if (!draw_ || redraw_inputs(root_, set, *draw_, given_.arrays, out).empty()) out.clear();
    return out;
  });
}

Result<Execution> KernelTrial::reference() const {
  return list_.empty() ? runner().run(root_) : runner().run(list_);
}

Result<std::vector<Comparison>> KernelTrial::compare(const Arrays& actual, const Arrays& expected,
                                                     const CompareOptions& options, Recheck recheck,
                                                     Arrays* settled) const {
  return runner().compare(root_, actual, expected, options, list_.empty() ? recheck : Recheck::Never, settled);
}

}  // namespace tgc
