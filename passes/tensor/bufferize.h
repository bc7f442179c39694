// A BUFFERIZE marks a value that is stored in a buffer, indexed by the ranges that the BUFFERIZE ends. The rules here
// replace the BUFFERIZE by a buffer, a STORE and an AFTER. Mirrors tinygrad schedule/indexing.py:BufferizeOpts and
// schedule/rangeify.py (bufferize_to_store, rangeify_codegen).
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/rewrite/rewrite.h"

namespace tgc {

// The argument of a BUFFERIZE.
struct BufferizeOpts {
  Arg device = {};                          // None for a local buffer that rangeify makes
  AddrSpace addrspace = AddrSpace::GLOBAL;
  bool removable = true;                    // false: the user or a copy requires this buffer, so it stays

  static BufferizeOpts of(UOp bufferize);   // throws Failure if the arg is not BufferizeOpts
  Arg arg(Graph& graph) const;
};
UOp bufferize(UOp value, std::span<const UOp> ranges, const BufferizeOpts& opts, Arg tag = {});

// State of the rules that create buffers or split a graph into kernels (rangeify.py:LocalAddBufferContext).
struct LocalAddBufferContext {
  int64_t next = 0;                           // number of the next buffer
  int64_t globals = 0;                        // number of the next DEFINE_GLOBAL
  int64_t ranges = 0;                         // number of the next RANGE
  // Each buffer, and the BUFFER or AFTER that becomes the kernel's source for it; in order of first use.
  std::vector<std::pair<UOp, UOp>> buffers;
  std::unordered_map<UOp, size_t> buffer_at;  // index of each buffer in `buffers`
  std::vector<UOp> vars;                      // the BINDs, without duplicates
  Arg opts = {};                              // opts_to_apply of the kernel: the arg of a CONTIGUOUS
};

const RuleSet& pm_flatten_bufferize();   // BUFFERIZE over several ranges -> BUFFERIZE over one flat index, reshaped
const RuleSet& to_bufferview();          // CONTIGUOUS or BITCAST of a file -> BUFFER_VIEW
const RuleSet& pm_add_buffers();         // BUFFERIZE in global memory -> BUFFER
const RuleSet& pm_add_buffers_local();   // pm_add_buffers, and BUFFERIZE in local memory -> DEFINE_LOCAL
const RuleSet& rangeify_codegen();       // removes ops of the tensor level (CONTIGUOUS, NOOP) from a kernel
const RuleSet& add_local_buffers_rules();

// Runs the kernel stage "add local buffers".
UOp add_local_buffers(UOp sink);

}  // namespace tgc
