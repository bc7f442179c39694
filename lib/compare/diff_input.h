// `tgc diff`: compares two inputs. An input is a graph, or the results of all stages of one or more compilations
// ("runs").
#pragma once
#include <string>

#include "lib/diff/graph_diff.h"
#include "lib/driver/session.h"
#include "lib/support/ci_report.h"

namespace tgc {

struct DiffPlan {
  std::string ignored_differences = {};
  std::string stage = {};     // empty: all stages of runs, or the stage that a graph names
  std::string renames_file = {};   // --renames: a file (renames.h) or "none"; empty: the built-in renames.def
  DiffStyle diff_style = {};
  bool skips_stages = false;  // for recordings: compare only the kernels' sources
  bool as_json = false;
  bool is_quiet = false;
  size_t max_differences = 20;  // for recordings: differences that are shown in detail
};

struct DiffReport {
  bool is_same = false;
  std::string text;
  CiReport ci;
};

// Compares two inputs: graphs in any format, golden records (FILE or FILE#ID), or folders that `tgc dump -o` wrote. If
// `b` is empty, compares the runs of `a` with tgc's own compilation of their ASTs. Fails if an input or option is
// invalid, or if nothing can be compared.
Result<DiffReport> diff_inputs(const Session& session, const std::string& a, const std::string& b,
                               const DiffPlan& plan);

}  // namespace tgc
