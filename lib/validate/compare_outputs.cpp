#include "lib/validate/compare_outputs.h"

#include "lib/runtime/ref/rounding.h"

namespace tgc {

ToleranceOptions CompareOptions::tolerance_for(UOp root, const Array& expected) const {
  const bool is_asked = tolerance.rtol || tolerance.atol || tolerance.ulp;
  if (is_asked || !expect.empty()) return tolerance;
  return tolerance_between_devices(expected, coarsest_rounding(root), adds_up(root));
}

Result<std::vector<Comparison>> compare_outputs(UOp root, const Arrays& actual, const Arrays& expected,
                                                const CompareOptions& options) {
  return catch_failures([&] {
    std::vector<Comparison> out;
    for (const NamedArray& e : expected) {
      const Array* a = find_array(actual, e.name);
      if (!a) throw Failure("the kernel stores no array '" + e.name + "'");
      const ToleranceOptions tolerance = options.tolerance_for(root, e.array);
      out.push_back(std::move(compare_arrays(e.name, *a, e.array, tolerance).value_or_throw()));
    }
    return out;
  });
}

}  // namespace tgc
