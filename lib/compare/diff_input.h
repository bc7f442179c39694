// `tgc diff`: compares two inputs. Each is a graph, or runs of the pipeline with their result after every stage.
#pragma once
#include <string>

#include "lib/diff/graph_diff.h"
#include "lib/driver/session.h"
#include "lib/support/ci_report.h"

namespace tgc {

struct DiffPlan {
  std::string ignore = {};    // --ignore: the differences to ignore
  std::string stage = {};     // the stage to compare; empty: all stages of runs, else the stage that a graph names
  std::string renames = {};   // --renames: see ReplayDiffPlan
  DiffStyle style = {};
  bool sources_only = false;  // for recordings: compare only the kernels' sources
  bool json = false;          // the format of DiffReport::text
  bool quiet = false;         // make no text
  size_t show = 20;           // for recordings: number of differences that are shown in detail
};

struct DiffReport {
  bool same = false;
  std::string text;  // for people, or JSON
  CiReport ci;
};

// Compares two inputs: a graph in any format, golden records (FILE or FILE#ID), or a folder that `tgc dump -o` wrote.
// If `b` is empty, compares the records of `a` with what tgc makes of their ASTs. Compares two recordings by process
// replay (process_replay.h). Warns if a file is truncated. Fails if a file cannot be read, or if nothing can be
// compared.
Result<DiffReport> diff_inputs(const Session& session, const std::string& a, const std::string& b,
                               const DiffPlan& plan);

}  // namespace tgc
