// Kernels that tinygrad itself compiles, and what tgc makes of them, text by text.
#pragma once
#include <span>
#include <string>
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

// Each compiled by tinygrad 0.12.0 and replayed, in order. `tinygrad`: a Python with it and tgc.export, or a command
// that takes what tinygrad_export.py takes. An error: that command fails; its output is named.
Result<std::vector<RecordReport>> compared_with_tinygrad(const Session& session, const std::string& tinygrad,
                                                         std::span<const KernelText> kernels);

}  // namespace tgc
