// BUFFERIZE: a value that is to be kept in a buffer, over the ranges it closes; and how it becomes that buffer, a STORE
// and an AFTER. Mirrors tinygrad schedule/indexing.py (BufferizeOpts) and schedule/rangeify.py (4.
// put in buffers for bufferize, rangeify_codegen).
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/rewrite/rewrite.h"

namespace tgc {

// The argument of a BUFFERIZE.
struct BufferizeOpts {
  Arg device = {};                          // None in local memory
  AddrSpace addrspace = AddrSpace::GLOBAL;
  bool removable = true;                    // false: the user or a copy asks for this buffer

  static BufferizeOpts of(UOp bufferize);   // throws Failure when the arg is none
  Arg arg(Graph& graph) const;
};
UOp bufferize(UOp value, std::span<const UOp> ranges, const BufferizeOpts& opts, Arg tag = {});

// What the rules that put in buffers and those that cut out kernels count and note (rangeify.py LocalAddBufferContext,
// itertools.count).
struct LocalAddBufferContext {
  int64_t next = 0;                           // number of the next buffer
  int64_t globals = 0;                        // DEFINE_GLOBALs made
  int64_t ranges = 0;                         // ranges renumbered
  // in order: a buffer, and the BUFFER or AFTER that the kernel takes it from
  std::vector<std::pair<UOp, UOp>> buffers;
  std::unordered_map<UOp, size_t> buffer_at;  // where a buffer is in `buffers`
  std::vector<UOp> vars;                      // BINDs, in order, each once
  Arg opts = {};                              // opts_to_apply that a CONTIGUOUS asked for
};

const RuleSet& pm_flatten_bufferize();   // BUFFERIZE over several ranges -> over one, reshaped
const RuleSet& to_bufferview();          // CONTIGUOUS or BITCAST of a file -> BUFFER_VIEW
const RuleSet& pm_add_buffers();         // BUFFERIZE in global memory -> BUFFER
const RuleSet& pm_add_buffers_local();   // also those in local memory -> DEFINE_LOCAL
const RuleSet& rangeify_codegen();       // what is left of the tensor level in a kernel goes
const RuleSet& add_local_buffers_rules();

// The kernel stage "add local buffers".
UOp add_local_buffers(UOp sink);

}  // namespace tgc
