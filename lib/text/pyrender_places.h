// pyrender's text, and which line is which node's.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/uop.h"

namespace tgc {

struct PlacedText {
  std::string text;                              // without a final newline
  std::vector<std::pair<UOp, uint32_t>> lines;   // the nodes with a line of their own, and its number from 0
};

// What pyrender(root) gives, with its lines. A Diag where pyrender has one.
Result<PlacedText> pyrender_with_places(UOp root);

}  // namespace tgc
