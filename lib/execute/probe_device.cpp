#include "lib/execute/probe_device.h"

#include <mutex>
#include <random>
#include <set>

#include "lib/execute/executable.h"
#include "passes/kernel/optimizer/apply_opts_stage.h"

namespace tgc {
namespace {

Status run_a_kernel(const Placement& place, const Settings& settings, const ExecuteOptions& options) {
  return catch_failures([&] {
    Graph graph(settings);
    UOp out = graph.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(1), {}, Arg(int64_t(0)));
    // store a random number, because the compile cache would hide a missing compiler if the source were the same
    UOp number = graph.constant(dtypes::int32, Const(int64_t(std::random_device{}() >> 1)));
    UOp zero = graph.constant(dtypes::int32, Const(int64_t(0)));
    UOp at = out.index_ptr(zero), store = at.store(number), sink = with_opts(graph.sink({store}), {});
    const UOp list[] = {out, zero, at, number, store, sink};
    Executable kernel = std::move(Executable::for_device(list, *place.target, *place.device).value_or_throw());
    Arrays arrays;
    arrays.push_back({"data0", Array(dtypes::int32, {1})});
    return execute(kernel, *place.device, arrays, {}, options).value_or_throw(), Unit{};
  });
}

}  // namespace

Status probe_device(const Placement& place, const Settings& settings, const ExecuteOptions& options) {
  if (place.is_ref || !place.target) return Unit{};
  static std::mutex lock;
  static std::set<std::string> known;
  std::lock_guard guard(lock);
  if (known.contains(place.label)) return Unit{};
  auto works = run_a_kernel(place, settings, options);
  if (!works) return Diag{place.label + " runs no kernel at all: " + works.diag().text()};
  known.insert(place.label);
  return Unit{};
}

}  // namespace tgc
