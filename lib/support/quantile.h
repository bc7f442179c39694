#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

namespace tgc {

// Returns the least of `values` such that at least the fraction `q` (0 to 1) of the values do not exceed it: the
// minimum for 0, the lower median for 0.5. Returns 0 if `values` is empty.
inline double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const auto at = values.begin() + std::max(0L, std::lround(std::ceil(q * double(values.size()))) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace tgc
