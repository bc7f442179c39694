// Inputs of a kernel at which a rewrite whose sides differ is likely to make a stage store something else: the values
// for which the sides differ, and the numbers that decide them.
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

  // `sides` are sides of rewrites, `points` the values of leaves for which they differ (RewriteProof::counterexample).
  SpecialInputs(StageRunner& runner, UOp ast, std::span<const UOp> sides,
                std::vector<std::map<std::string, std::string>> points);

  // Returns draw `number`, less than count(), with what the AST stores for it; nullopt if the AST is not defined there.
  std::optional<StageTrial> draw(size_t number) const;
  size_t count() const { return runner_.usual() && elements_ <= kMostElements ? points_.size() + kDraws : 0; }

  // Makes as many elements usual as it can while `differs`. Returns those that are left, "data1[3]" by name, if they
  // are few; else the number of elements of each array.
  std::map<std::string, std::string> narrowed(const StageTrial& trial,
                                              const std::function<bool(const StageTrial&)>& differs) const;

 private:
  static constexpr int64_t kMostElements = 1 << 21;
  std::vector<Const> pool(DType d, bool is_wild) const;

  StageRunner& runner_;
  const UOp ast_;
  const std::vector<std::map<std::string, std::string>> points_;
  std::vector<Const> numbers_;  // constants of the sides
  bool rounds_ = false;  // whether the kernel computes floats, so that large ones may overflow on the way
  int64_t elements_ = 0;  // number of elements of all arrays
};

}  // namespace tgc
