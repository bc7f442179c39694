// What `tgc dump` prints of a compilation: its graph after the stages that were asked for, and what is made of the last
// one; of a tensor graph the same of each of its kernels, several at a time.
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
  bool only_changed = false;            // the graph stages that change the graph
  bool input_only = false;                // nothing was asked for: the input alone, in tinygrad's letters
  bool self_describing = false;              // that are read again: each says what it is, the input and a listing too
  std::optional<Format> format = {};    // of graphs; empty: pyrender, and print_uops of linear lists
  unsigned jobs = 1;                    // threads for the kernels of a tensor graph
  Watcher* watcher = nullptr;           // of the compilation and its kernels, which then come one after another
  // Is called with each compilation after its texts are made, on the thread that made them; it may go on with it. An
  // error ends the dump. While it is set kernels come one after another, and equal ones are not made once.
  std::function<Status(Compilation&)> afterwards = {};
  std::function<void(size_t done, size_t of)> progress = {};  // of the kernels of a tensor graph; one call at a time

  bool wants(const StageRow& row) const { return wanted.contains(&row); }
};

// The plan of a list of stages (names, spans, `all`, `changed`); empty: the input as it is. Errors: a stage or a format
// that there is not.
Result<DumpPlan> make_dump_plan(std::string_view stages, std::string_view format);

// One text of the result.
struct DumpText {
  std::string graph;        // its name
  const StageRow* row;
  std::string extension;
  std::string text;

  std::string file_name(const std::string& stem) const;  // "STEM.NN.STAGE.EXT"
};

// Of a golden record: what it holds of the stages and outputs that are wanted, as tinygrad printed it. An error: it
// holds none of them.
Result<std::vector<DumpText>> recorded_texts(const InputGraph& in, const DumpPlan& plan);

// The texts, in order; none when the plan asks for nothing that this graph has. Errors: what the pipeline or a compiler
// refuses; and a plan that asks a linear list for what comes before it.
Result<std::vector<DumpText>> dump_texts(Compilation compilation, const DumpPlan& plan);

// Returns the texts as one JSON document: a graph or a schedule as JSON, any other text as a string.
std::string json_document(const std::vector<DumpText>& texts);

}  // namespace tgc
