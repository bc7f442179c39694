// Writes pyrender text exactly as tinygrad 0.13 and later print it (uop/render.py). A graph that tinygrad cannot print,
// or whose release is unknown, is written with every node as UOp(...).
#pragma once
#include "lib/text/pyrender.h"

namespace tgc {

// The pyrender text of a graph, without a final newline. `generic` is true if every node is written as UOp(...) because
// the pyrender of the graph's release fails on the graph.
struct OpenText {
  std::string text;
  bool generic = false;
  std::vector<UOp> lines = {};  // the node of each line
};
OpenText pyrender_open(UOp root);

// Like pyrender_open, but adds a comment with the whole node, "# c12 = UOp(...)", below each line that would be read as
// a different node. `lost` is also true if the text itself does not show which release printed it.
CompleteText pyrender_open_complete(UOp root);

}  // namespace tgc
