// Shows recordings of tinygrad releases other than 0.12.0 without compiling them, because the native pipeline cannot
// compile their graphs.
#pragma once
#include <map>

#include "lib/compilation/dump.h"
#include "lib/driver/session.h"
#include "lib/trace/trace.h"

namespace tgc {

// Returns the producer of an INPUT (FILE or FILE#ID), such as "tinygrad 0.14.0". Returns "" if this is tinygrad 0.12.0,
// if the INPUT names no producer, or if the file cannot be read.
std::string foreign_producer(const std::string& spec);

// Returns the recorded texts that `stages` lists, with graphs in `format`. `stages` may list names of stages, ast,
// linear, source, program, "kernel 0" (a kernel of a schedule), all and changed. An empty list means the AST.
Result<std::vector<DumpText>> foreign_texts(const InputGraph& in, const std::string& stages, Format format);

// Sends the recorded rewrites of a kernel to `to`, stage by stage. The name of a rule is its file and line in tinygrad.
// Fails if the record has no rewrites (tinygrad_export.py --rewrites records them).
Status trace_recorded_rewrites(const InputGraph& in, TraceConsumer& to);

// `matches`: number of matches of each rule, by its file and line in tinygrad. `ops`: number of nodes of each op.
struct RecordedCounts {
  std::map<std::string, size_t> matches, ops;
  size_t records = 0, stages = 0;

  Status add(const InputGraph& in);
  std::string text() const;
  std::string json() const;
};

}  // namespace tgc
