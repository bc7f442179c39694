// pyrender of the releases from 0.13 on, to the letter (uop/render.py), and for every graph that they cannot print, or
// that is of no release we know, the same with every node as UOp(...).
#pragma once
#include "lib/text/pyrender.h"

namespace tgc {

// The text of the graph under `root`, whose release its Graph says, without a final newline. `generic` says that
// tinygrad's own pyrender of that release fails on such a graph.
struct OpenText {
  std::string text;
  bool generic = false;
  std::vector<UOp> lines = {};  // whose each line is
};
OpenText pyrender_open(UOp root);

// The same lines, and below each that is read as another node the whole of its expression as a comment, as
// pyrender_complete of 0.12.0's graphs has them. `lost`, without a header above it: also where nothing in it says which
// release printed it.
CompleteText pyrender_open_complete(UOp root);

}  // namespace tgc
