// Reads times from a file that scripts/tools/beam_record wrote with the real tinygrad: JSON lines (FORMATS in
// README.md), plain or gzip.
#pragma once
#include <unordered_map>

#include "lib/beam/beam_search.h"

namespace tgc {

class ReplayTimes : public TimeSource {
 public:
  static Result<ReplayTimes> open(const std::string& path);

  Identity identity() const { return identity_; }
  const std::string& target() const { return target_; }
  size_t width() const { return width_; }
  bool has(const std::string& kernel) const { return kernels_.contains(kernel); }
  void begin(const std::string& kernel, Device* compiler) { now_ = &kernels_.at(kernel), compiler_ = compiler; }

  Device* compiler() override { return compiler_; }
  std::optional<double> time(const OptTexts& opts, Candidate&, double kept, CandidateLog& log) override;

 private:
  using Times = std::unordered_map<std::string, double>;  // maps the text of the opts to seconds
  Identity identity_ = Identity::Source;
  std::string target_;
  size_t width_ = 2;
  std::unordered_map<std::string, Times> kernels_;
  const Times* now_ = nullptr;
  Device* compiler_ = nullptr;
};

}  // namespace tgc
