// What `tgc dump` prints of a graph: the graph after the stages that were asked for, and what is made of the last. A tensor graph goes
// through the stages of its level into a schedule, and from there each of its kernels through those of theirs, several at a time.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apps/tgc/input.h"
#include "apps/tgc/options.h"
#include "lib/compilation/outputs.h"
#include "lib/compilation/selection.h"
#include "lib/text/formats.h"
#include "passes/pipeline.h"

namespace tgc {

struct DumpPlan {
  std::set<std::string_view> wanted = {};        // stages and outputs by name
  bool only_changed = false;                     // the stages that change the graph
  bool as_it_is = false;                         // nothing was asked for: the input alone
  std::optional<Format> format = {};
  const Stage* from = nullptr;                   // the input is the graph after that stage
  const TensorStage* tensor_from = nullptr;
  CompileOptions compile = {};                   // how what compilers make is shown
  unsigned jobs = 0;                             // threads for the kernels of a tensor graph; 0: one per processor

  bool wants(std::string_view name) const { return wanted.contains(name); }
};

inline constexpr std::string_view kAst = "ast", kSchedule = "schedule";

// What can be asked for, in the order it is made. What only compilers make is outside spans and `all`.
std::vector<Choice> dump_choices();

// One text of the result.
struct DumpText {
  std::string graph;  // its name
  size_t number;      // of the stage: 0 is the input
  std::string stage;  // its name
  std::string slug;
  std::string extension;
  std::string text;
};

Result<std::vector<DumpText>> dump_texts(InputGraph& in, const DumpPlan& plan, const PipelineOptions& pipeline);

}  // namespace tgc
