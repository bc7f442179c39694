// Makes the texts that `tgc dump` prints: the graph after each requested stage, and the requested outputs. For a tensor
// graph, also the texts of its kernels, which are compiled in parallel.
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
  bool only_changed = false;          // add each graph stage that changes the graph (the word `changed`)
  bool input_only = false;            // no stages were requested, so dump only the input
  bool self_describing = false;       // the texts go to files: each gets a header with its stage and target
  std::optional<Format> format = {};  // format of graphs and lists; default: pyrender for graphs, print_uops for lists
  unsigned jobs = 1;                  // number of threads for the kernels of a tensor graph
  Watcher* watcher = nullptr;         // watches the compilation and its kernels, which then run one at a time
  // Called with each compilation, on the thread that made its texts, after they are made. May step the compilation
  // further; if it returns an error, the dump ends. If set, all kernels are compiled, one at a time, equal ones too.
  std::function<Status(Compilation&)> afterwards = {};
  std::function<void(size_t done, size_t of)> progress = {};  // called after each kernel; never by two threads at once

  bool wants(const StageRow& row) const { return wanted.contains(&row); }
};

// Returns the plan for a list of stages (names, spans, `all`, `changed`; empty: only the input) and a format (empty:
// the default). Errors: an unknown stage or format.
Result<DumpPlan> make_dump_plan(std::string_view stages, std::string_view format);

// One text of the result.
struct DumpText {
  std::string graph;        // name of the graph
  const StageRow* row;
  std::string extension;
  std::string text;

  std::string file_name(const std::string& stem) const;  // returns "STEM.NN.STAGE.EXT"
};

// Returns the requested stages and outputs of a golden record, as tinygrad printed them. Fails if `in` is not from a
// golden record, or if the record has none of the requested texts.
Result<std::vector<DumpText>> recorded_texts(const InputGraph& in, const DumpPlan& plan);

// Returns the requested texts in order, possibly none. Fails if a stage or compiler fails, or if the input is a linear
// list and only graph stages are requested, because these come before the list.
Result<std::vector<DumpText>> dump_texts(Compilation compilation, const DumpPlan& plan);

// Returns the texts as one JSON document: a graph or a schedule as JSON, any other text as a string.
std::string json_document(const std::vector<DumpText>& texts);

}  // namespace tgc
