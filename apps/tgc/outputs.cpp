#include "apps/tgc/outputs.h"

namespace tgc {
namespace {

// name, alias, extension, help, how it is made
const std::vector<OutputStage> kOutputs = {};

}  // namespace

std::span<const OutputStage> output_stages() { return kOutputs; }

const OutputStage* find_output(std::string_view text) {
  for (const OutputStage& o : kOutputs)
    if (text == o.name || text == o.alias) return &o;
  return nullptr;
}

}  // namespace tgc
