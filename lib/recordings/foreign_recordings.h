// Shows recordings of tinygrad releases other than 0.12.0 as they were recorded: the native pipeline does not run on
// them.
#pragma once
#include <map>

#include "lib/compilation/dump.h"
#include "lib/driver/session.h"
#include "lib/trace/trace.h"

namespace tgc {

// Returns the producer of an INPUT (FILE or FILE#ID), such as "tinygrad 0.14.0". Empty: tinygrad 0.12.0, no producer
// named, or the file cannot be read.
std::string foreign_producer(const std::string& spec);

// Returns the recorded texts of the stages in a list of names, `all` and `changed` (empty: the AST), with each graph in
// `format`. Besides stages, the names are ast, linear, source, program, and "kernel 0", ... of a schedule.
Result<std::vector<DumpText>> foreign_texts(const InputGraph& in, const std::string& stages, Format format);

// Sends the recorded rewrites of a kernel to `to`, stage by stage; rules are named by their place in tinygrad. Errors:
// the record has no rewrites (tinygrad_export.py --rewrites records them).
Status trace_recorded_rewrites(const InputGraph& in, TraceConsumer& to);

// Counts the matches of each rule, by its place in tinygrad, and the nodes of each op in the recorded graphs.
struct RecordedCounts {
  std::map<std::string, size_t> matches, ops;
  size_t records = 0, stages = 0;

  Status add(const InputGraph& in);
  std::string text() const;
  std::string json() const;
};

}  // namespace tgc
