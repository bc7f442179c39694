// Writes pyrender exactly as releases from 0.13 on print it (uop/render.py). Graphs that they cannot print, or that
// belong to an unknown release, are written with every node as UOp(...).
#pragma once
#include "lib/text/pyrender.h"

namespace tgc {

// The text of a graph as the graph's release prints it, without a final newline. If `generic` is true, that release's
// own pyrender fails on the graph, and every node is written as UOp(...).
struct OpenText {
  std::string text;
  bool generic = false;
  std::vector<UOp> lines = {};  // the node of each line
};
OpenText pyrender_open(UOp root);

// Like pyrender_open, but adds the whole expression as a comment below each line that would be read as another node,
// like pyrender_complete. `lost` is also true if the text itself does not show which release printed it.
CompleteText pyrender_open_complete(UOp root);

}  // namespace tgc
