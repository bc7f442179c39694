// Writes pyrender text and returns the line number of each node in it.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/uop.h"

namespace tgc {

struct PlacedText {
  std::string text;                              // pyrender's text, without a final newline
  std::vector<std::pair<UOp, uint32_t>> lines;   // each node that has its own line, with the 0-based line number
};

// Returns the text pyrender(root) and the line number of each node in it. Fails if pyrender fails.
Result<PlacedText> pyrender_with_places(UOp root);

}  // namespace tgc
