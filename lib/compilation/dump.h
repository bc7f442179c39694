// Makes the texts that `tgc dump` prints: the graph after each requested stage, and the requested outputs. For a tensor
// graph, also makes the texts of its kernels.
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/text/formats.h"

namespace tgc {

struct DumpPlan {
  std::set<const StageRow*> wanted_rows = {};  // the requested stages and outputs
  bool dumps_changed_graphs = false;  // add the graph after each stage that changes it (`changed`)
  bool dumps_only_input = false;      // no stage is requested: dump the input itself
  bool self_describing = false;       // begin graphs and lists with a header that names the stage, as files need it
  bool explains_fusion = false;       // after the schedule, explain why each kernel is separate (fusion.h)
  std::optional<Format> format = {};  // format of graphs and lists; unset: pyrender for graphs, print_uops for lists
  CompileOptions compile_options = {};        // options of the outputs of compilers, for a recorded kernel
  unsigned num_threads = 1;                  // number of threads for the kernels of a tensor graph
  Watcher* watcher = nullptr;  // if not null, watches the compilations; kernels are then compiled one at a time
  // Called with each compilation after its texts are made, on the thread that made them. May step the compilation
  // further. An error ends the dump. If set, every kernel is compiled, one at a time, even if equal to an earlier one.
  std::function<Status(Compilation&)> on_compiled = {};
  // Called after each kernel of a tensor graph, by one thread at a time: `done` of `of` kernels have their texts.
  std::function<void(size_t done, size_t of)> progress = {};

  bool is_wanted(const StageRow& row) const { return wanted_rows.contains(&row); }
};

// Parses the values of --stage and --format. `stages` has names, spans, `all` or `changed`; if it is empty, only the
// input is dumped. An empty `format` is the default. Fails for a malformed list, or an unknown stage or format.
Result<DumpPlan> make_dump_plan(std::string_view stages, std::string_view format);

// A text that `tgc dump` prints: the graph after a stage, or an output.
struct DumpText {
  std::string graph_name;        // name of the kernel or tensor graph
  const StageRow* row;
  std::string extension;  // of the text's file, without the dot
  std::string text;

  std::string file_name(const std::string& stem) const;  // returns "STEM.NN.STAGE.EXT"
};

// Returns the requested texts in order; there may be none. Fails if a stage, an output or `on_compiled` fails, or if
// the input is a linear list and no output is requested that it has.
Result<std::vector<DumpText>> dump_texts(Compilation& compilation, const DumpPlan& plan);

// Returns the texts as one JSON document. A graph or schedule that is JSON becomes a value, any other text a string.
std::string json_document(const std::vector<DumpText>& texts);

}  // namespace tgc
