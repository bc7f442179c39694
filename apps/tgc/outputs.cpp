#include "apps/tgc/outputs.h"

#include "lib/text/print_uops.h"

namespace tgc {
namespace {

// name, alias, extension, help, how it is made
const std::vector<OutputStage> kOutputs = {
    {"linear", "linearize", "uops", "the nodes in the order they run, as print_uops shows them",
     [](KernelOutputs& kernel) -> Result<std::string> {
       auto& list = kernel.list();
       if (!list) return list.diag();
       return print_uops(*list);
     }},
};

}  // namespace

const Result<std::vector<UOp>>& KernelOutputs::list() {
  if (!list_) list_ = linear_list(job_, sink_);
  return *list_;
}

std::span<const OutputStage> output_stages() { return kOutputs; }

const OutputStage* find_output(std::string_view text) {
  for (const OutputStage& o : kOutputs)
    if (text == o.name || text == o.alias) return &o;
  return nullptr;
}

}  // namespace tgc
