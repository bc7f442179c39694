// Kernels that tinygrad itself compiles, and what tgc makes of them, text by text.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/session/replay.h"

namespace tgc {

struct KernelText {
  std::string ast;          // pyrender
  GoldenSettings settings;
  std::string target;
};

// The settings that are not tinygrad's defaults.
GoldenSettings changed_settings(const Settings& settings);

// The golden file that tinygrad 0.12.0 makes of kernels; it is removed with this. `tinygrad`: a Python with it and
// tgc.export, or a command that takes what tinygrad_export.py takes. An error: that command fails; its output is named.
class MadeByTinygrad {
 public:
  static Result<MadeByTinygrad> make(const std::string& tinygrad, std::span<const KernelText> kernels);
  MadeByTinygrad(MadeByTinygrad&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  MadeByTinygrad& operator=(MadeByTinygrad&&) = delete;
  ~MadeByTinygrad();

  const std::string& path() const { return path_; }

 private:
  explicit MadeByTinygrad(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Each compiled by tinygrad, as above, and replayed, in order.
Result<std::vector<RecordReport>> compared_with_tinygrad(const Session& session, const std::string& tinygrad,
                                                         std::span<const KernelText> kernels);

}  // namespace tgc
