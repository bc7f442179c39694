// Recordings of other releases than 0.12.0, which are shown as they were recorded: the pipeline makes nothing of them.
#pragma once
#include <map>

#include "lib/compilation/dump.h"
#include "lib/driver/session.h"
#include "lib/trace/trace.h"

namespace tgc {

// Who made an INPUT (FILE or FILE#ID), "tinygrad 0.14.0", where that is not 0.12.0; empty where it is, where nothing is
// said, and where there is nothing to be read.
std::string producer_elsewhere(const std::string& spec);

// What was recorded of the stages in the list (names, `all`, `changed`; empty: the AST), each graph in that format.
// Besides the stages there are ast, linear, source, program, and of a schedule "kernel 0", "kernel 1", ...
Result<std::vector<DumpText>> elsewhere_texts(const InputGraph& in, const std::string& stages, Format format);

// Tells what was recorded of a kernel's rewrites: each match of a rule, named by its place, in its stage. A record
// without them (tinygrad_export.py --rewrites) is an error.
Status tell_recorded(const InputGraph& in, TraceConsumer& to);

// How often each rule matched, by its place; and the nodes of each op in the graphs that were recorded.
struct RecordedCounts {
  std::map<std::string, size_t> matches, ops;
  size_t records = 0, stages = 0;

  Status add(const InputGraph& in);
  std::string text() const;
  std::string json() const;
};

}  // namespace tgc
