// Makes the texts that `tgc dump` prints: the graph after each requested stage, and the requested outputs. For a tensor
// graph, also those of its kernels, which are compiled in parallel.
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/compilation/compilation.h"

namespace tgc {

struct DumpPlan {
  std::set<const StageRow*> wanted = {};
  bool only_changed = false;          // `changed`: also every graph stage that changes the graph
  bool input_only = false;            // no stages were requested: dump the input only
  bool self_describing = false;       // the texts go to files: give each a header with its stage and target
  std::optional<Format> format = {};  // of graphs and lists; empty: pyrender for graphs, print_uops for lists
  unsigned jobs = 1;                  // threads for the kernels of a tensor graph
  Watcher* watcher = nullptr;         // watches the compilation and its kernels; one kernel at a time, then
  // Called with each compilation after its texts are made, on the thread that made them; may step it further. An error
  // ends the dump. If set, kernels are compiled one at a time, also those that are equal.
  std::function<Status(Compilation&)> afterwards = {};
  std::function<void(size_t done, size_t of)> progress = {};  // called after each kernel, by one thread at a time

  bool wants(const StageRow& row) const { return wanted.contains(&row); }
};

// Returns the plan for a list of stages (names, spans, `all`, `changed`; empty: only the input) and a format (may be
// empty). Errors: an unknown stage or format.
Result<DumpPlan> make_dump_plan(std::string_view stages, std::string_view format);

// One text of the result.
struct DumpText {
  std::string graph;        // name of the graph
  const StageRow* row;
  std::string extension;
  std::string text;

  std::string file_name(const std::string& stem) const;  // returns "STEM.NN.STAGE.EXT"
};

// Returns the requested stages and outputs of a golden record, as tinygrad printed them. Fails if the input is not a
// golden record or the record contains none of them.
Result<std::vector<DumpText>> recorded_texts(const InputGraph& in, const DumpPlan& plan);

// Returns the requested texts in order, possibly none. Errors: those of stages and compilers; a linear list of which
// only earlier stages are requested.
Result<std::vector<DumpText>> dump_texts(Compilation compilation, const DumpPlan& plan);

}  // namespace tgc
