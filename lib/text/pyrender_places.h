// pyrender's text together with the line of each node.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/uop.h"

namespace tgc {

struct PlacedText {
  std::string text;                              // without a final newline
  std::vector<std::pair<UOp, uint32_t>> lines;   // nodes that have their own line, and its 0-based number
};

// Returns pyrender(root) and the lines of its nodes. Fails where pyrender fails.
Result<PlacedText> pyrender_with_places(UOp root);

}  // namespace tgc
