// Overrides: the user's choices, which replace what an input says about itself.
#pragma once
#include <string>
#include <vector>

namespace tgc {

// If a field is empty, the input decides.
struct Overrides {
  std::string target;              // DEVICE[:RENDERER[:ARCH]]
  std::vector<std::string> sets;   // KEY=VALUE each, by tinygrad's names
  std::string opts;                // the opts (schedule choices) that the optimizer applies: "[Opt(...), ...]"
  // the stage that made the input graph; if the input is a golden record, its graph after this stage is read
  std::string from;
  std::vector<std::string> sizes;  // NAME=SIZE each: a model's symbolic dimensions
  std::string weights;             // a file with the tensors that a model's initializers refer to
  bool imports = false;            // import kernels of other tinygrad releases (lib/import) as they are read
  bool native = false;             // compile an imported kernel with tgc's own pipeline
  bool recorded = false;           // show what a record has, although tgc's own pipeline could compile it
  std::string live;                // a Python or command whose tinygrad compiles (named_tinygrad); empty: tgc compiles
  bool live_rewrites = false;      // the live pipeline records the matches of rules, too
  // The command's other options, such as " --emulate --timeout=9", for the command that repeats a failure.
  std::string other_options;

  // Returns whether an option changes how tgc compiles a graph.
  bool change_compilation() const {
    return !target.empty() || !sets.empty() || !opts.empty() || !from.empty() || native;
  }
};

}  // namespace tgc
