// SpecialInputs draws inputs of a kernel that probably show in the stored arrays that a rewrite is wrong.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/prove/stage_runner.h"

namespace tgc {

class SpecialInputs {
 public:
  static constexpr size_t kNumDraws = 20;

  // `points` are values of leaves for which `sides` differ (RewriteProof::counterexample).
  SpecialInputs(StageRunner& runner, UOp ast, std::span<const UOp> sides,
                std::vector<std::map<std::string, std::string>> points);

  // Returns the trial of draw `number`, which must be less than num_draws(); nullopt if its inputs are of no use, for
  // example because the AST may be undefined for them.
  std::optional<StageTrial> draw_trial(size_t number) const;
  size_t num_draws() const {
    return stage_runner_.default_trial() && num_elements_ <= kMaxElements ? input_points_.size() + kNumDraws : 0;
  }

  // Replaces elements by usual numbers as long as `differs` returns true. Returns the values of the variables and, for
  // each array, the remaining elements by name ("data1[3]") if they are few; else a summary.
  std::map<std::string, std::string> narrow_point(const StageTrial& trial,
                                                  const std::function<bool(const StageTrial&)>& differs) const;

 private:
  static constexpr int64_t kMaxElements = 1 << 21;
  std::vector<Const> value_pool(DType d, bool is_wild) const;

  StageRunner& stage_runner_;
  const UOp ast_;
  const std::vector<std::map<std::string, std::string>> input_points_;
  std::vector<Const> side_constants_;
  bool computes_floats_ = false;  // the kernel computes with floats, so intermediate results of large ones may overflow
  int64_t num_elements_ = 0;  // number of elements of all arrays
};

}  // namespace tgc
