// Makes the texts that `tgc dump` prints.
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
  std::set<const StageRow*> wanted_rows = {};
  bool dumps_changed_graphs = false;
  bool dumps_only_input = false;
  bool is_self_describing = false;    // name the stage in each text of a graph or list, if the format can
  bool explains_fusion = false;       // explain why each kernel of a schedule is separate (fusion.h)
  std::optional<GraphFormat> format = {};  // unset: pyrender for graphs, print_uops for lists
  CompileOptions compile_options = {};
  unsigned num_threads = 1;
  StageObserver* stage_observer = nullptr;  // may be null; if set, kernels are compiled one at a time
  // Called with each compilation after its texts are made. May step the compilation further. An error ends the dump. If
  // set, kernels are compiled one at a time, even if equal to an earlier one.
  std::function<Status(Compilation&)> on_compiled = {};
  // Called after each kernel of a tensor graph, by one thread at a time.
  std::function<void(size_t done, size_t of)> report_progress = {};

  bool is_wanted(const StageRow& row) const { return wanted_rows.contains(&row); }
};

// Parses the values of --stage and --format. `stages` has names, spans, `all` or `changed`; if it is empty, only the
// input is dumped. Fails for a malformed list, or an unknown stage or format.
Result<DumpPlan> make_dump_plan(std::string_view stages, std::string_view format);

struct DumpText {
  std::string graph_name;
  const StageRow* row;
  std::string extension;
  std::string text;

  std::string file_name(const std::string& stem) const;  // returns "STEM.NN.STAGE.EXT"
};

// Returns the requested texts, of a tensor graph also those of its kernels. Fails if a stage, a text or
// `on_compiled` fails, or if the input is a linear list that has none of the requested texts.
Result<std::vector<DumpText>> make_dump_texts(Compilation& compilation, const DumpPlan& plan);

// Returns the texts as one JSON document. A graph or schedule that is JSON becomes a value, another text a string.
std::string make_json_document(const std::vector<DumpText>& texts);

}  // namespace tgc
