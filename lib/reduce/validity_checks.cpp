#include "lib/reduce/validity_checks.h"

#include <algorithm>

#include "lib/run/repro_bundle.h"
#include "lib/validate/kernel_inputs.h"
#include "lib/validate/reference_runner.h"

namespace tgc {
namespace {

bool stores_anything(UOp root) {
  return std::ranges::any_of(toposort(root), [](UOp u) { return u.is(Op::STORE); });
}

bool may_leave_any_buffer(UOp root) { return may_leave_buffers(toposort(root), {Op::LOAD, Op::STORE}); }

// Returns true if one of the `width` elements that begin at the INDEX may be out of bounds.
bool may_leave_its_buffer(UOp index, int64_t width) {
  DType buffer = index.src(0).dtype();
  if (index.num_src() < 2 || !buffer.is_ptr()) return false;
  if (buffer.is_image()) return true;
  UOp at = index.src(1).dtype().is(Scalar::Index) ? index.src(1).get_idx() : index.src(1);
  Const low = at.vmin(), high = at.vmax();
  bool is_known = low.is_integral() && high.is_integral();
  return !is_known || low.as_int() < Int(0) || high.as_int() + Int(width - 1) >= Int(buffer.size());
}

}  // namespace

bool may_leave_buffers(std::span<const UOp> nodes, OpSet accesses) {
  return std::ranges::any_of(nodes, [&](UOp u) {
    if (u.is(Op::INDEX)) return accesses.contains(Op::LOAD) && !u.dtype().is_ptr() && may_leave_its_buffer(u, 1);
    if (!u.in({Op::LOAD, Op::STORE}) || !accesses.contains(u.op())) return false;
    UOp at = u.src(0);
    while (at.num_src() > 0 && !at.is(Op::INDEX)) at = at.src(0);  // skip casts of the pointer
    return at.is(Op::INDEX) && may_leave_its_buffer(at, (u.is(Op::LOAD) ? u : u.src(1)).dtype().count());
  });
}

ValidityChecker::ValidityChecker(const TestCase& given, VariableValues variables, const ExecuteOptions& in_ref)
    : initial_case_(copy_to_own_graph(given)),
      variable_values_(std::move(variables)),
      ref_options_(in_ref),
      has_stores_(stores_anything(given.root)),
      is_bounded_(is_ast(given) && !may_leave_any_buffer(given.root)) {}

bool ValidityChecker::has_effect(const TestCase& c) const { return !has_stores_ || stores_anything(c.root); }

bool ValidityChecker::is_within_bounds(const TestCase& c) const {
  return !is_bounded_ || !is_ast(c) || !may_leave_any_buffer(c.root);
}

bool ValidityChecker::keeps_bounds_in_ref(const TestCase& c) const {
  if (!leaves_bounds_in_ref(c)) return true;
  std::lock_guard guard(mutex_);
  if (!initial_case_leaves_bounds_) initial_case_leaves_bounds_ = leaves_bounds_in_ref(initial_case_);
  return *initial_case_leaves_bounds_;
}

bool ValidityChecker::leaves_bounds_in_ref(const TestCase& c) const {
  if (!may_leave_any_buffer(c.root)) return false;
  const Arrays inputs = arrays_from_bundle(c.inputs);
  auto done = catch_failures([&] {
    const ReferenceRunner ref(inputs, variable_values_, ref_options_, make_input_distribution(c.root));
    return std::move(ref.run_reference(c.root).value_or_throw());
  });
  return !done && done.diag().message.starts_with("out of bounds");
}

}  // namespace tgc
