// Shows recordings of tinygrad releases other than 0.12.0 without compiling them, because the native pipeline cannot
// compile their graphs.
#pragma once
#include <optional>

#include "lib/compilation/dump.h"
#include "lib/diff/renames.h"
#include "lib/driver/session.h"
#include "lib/recordings/recorded_selection.h"
#include "lib/trace/trace.h"

namespace tgc {

// Returns the producer of an INPUT (FILE or FILE#ID), such as "tinygrad 0.14.0". Returns "" if this is tinygrad 0.12.0,
// if the INPUT names no producer, or if the file cannot be read.
std::string foreign_producer(const std::string& spec);

// Returns whether commands show what was recorded of a graph, because a tinygrad compiled it: it is of another release,
// or the session has a live pipeline.
inline bool shows_recording(const Session& session, const InputGraph& in) {
  return session.live || in.graph->is_foreign();
}

// Returns the recorded texts that `stages` selects: graphs after stages, ast, linear, source, program and "kernel 0" (a
// kernel of a schedule). Graphs and lists are in the format of `plan`.
Result<std::vector<DumpText>> foreign_texts(const InputGraph& in, RecordedSelection& stages, const DumpPlan& plan);

// The names with which a recording is shown: its own, or those of the later of two compared releases.
struct ShownNames {
  Renames renames = {};
  std::optional<Release> release = {};  // empty: the recording's own
  bool is_older = false;                // the recording is of the earlier release
};

// Sends the recorded rewrites of a kernel to `to`, of the stages that `stages` selects; an empty list selects all. The
// name of a rule is its file and line in tinygrad. Throws Failure if the record has no rewrites
// (tinygrad_export.py --rewrites records them), because then the other records of its file have none either.
Status trace_recorded_rewrites(const InputGraph& in, RecordedSelection& stages, TraceConsumer& to,
                               const ShownNames& names = {});

}  // namespace tgc
