// pyrender's text together with the line number of each node.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/uop.h"

namespace tgc {

struct PlacedText {
  std::string text;                              // pyrender's text, without a final newline
  std::vector<std::pair<UOp, uint32_t>> lines;   // nodes that have a line, and the line's 0-based number
};

// Returns the text pyrender(root) and the line number of each node in it. Fails if pyrender fails.
Result<PlacedText> pyrender_with_places(UOp root);

}  // namespace tgc
