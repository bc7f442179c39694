// What comes after the graph stages of a kernel: texts made from the fully rewritten graph. One table that dump, check and stages read.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "passes/pipeline.h"

namespace tgc {

// One fully rewritten kernel; what several outputs need is made once.
class KernelOutputs {
 public:
  KernelOutputs(KernelJob& job, UOp sink) : job_(job), sink_(sink) {}
  KernelJob& job() { return job_; }
  UOp sink() const { return sink_; }
  const Result<std::vector<UOp>>& list();       // the linear list
  const Result<std::string>& source();          // what the target's renderer prints

 private:
  KernelJob& job_;
  UOp sink_;
  std::optional<Result<std::vector<UOp>>> list_;
  std::optional<Result<std::string>> source_;
};

struct OutputStage {
  std::string_view name;       // "linear"
  std::string_view alias;      // "linearize"
  std::string_view extension;  // of its files
  std::string_view help;
  Result<std::string> (*make)(KernelOutputs&);
};

// In the order they are made. An output that tgc cannot make yet is not in the table.
std::span<const OutputStage> output_stages();
const OutputStage* find_output(std::string_view name_or_alias);

}  // namespace tgc
