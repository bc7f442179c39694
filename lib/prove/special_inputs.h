// SpecialInputs: inputs of a kernel for which a rewrite whose sides differ probably changes what a stage stores. They
// contain the values for which the sides differ, and numbers near the constants of the sides.
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
  static constexpr size_t kDraws = 20;

  // `sides` are sides of rewrites, and `points` the values of leaves for which they differ
  // (RewriteProof::counterexample).
  SpecialInputs(StageRunner& runner, UOp ast, std::span<const UOp> sides,
                std::vector<std::map<std::string, std::string>> points);

  // Returns the draw `number`, which must be less than num_draws(), with the arrays that the AST stores for it; nullopt
  // if the AST is not defined for these inputs, or if the draw does not differ from the usual inputs.
  std::optional<StageTrial> draw_trial(size_t number) const;
  size_t num_draws() const {
    return runner_.usual_trial() && num_elements_ <= kMaxElements ? points_.size() + kDraws : 0;
  }

  // Replaces as many elements by usual numbers as possible while `differs` still returns true. Returns the values of
  // the variables, and the other elements by name ("data1[3]") if they are few; else the number of them in each array.
  std::map<std::string, std::string> narrowed_point(const StageTrial& trial,
                                                    const std::function<bool(const StageTrial&)>& differs) const;

 private:
  static constexpr int64_t kMaxElements = 1 << 21;
  std::vector<Const> value_pool(DType d, bool is_wild) const;

  StageRunner& runner_;
  const UOp ast_;
  const std::vector<std::map<std::string, std::string>> points_;
  std::vector<Const> side_constants_;  // the constants in the sides
  bool may_round_ = false;  // the kernel computes with floats, so intermediate results of large ones may overflow
  int64_t num_elements_ = 0;  // number of elements of all arrays
};

}  // namespace tgc
