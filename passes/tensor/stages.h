#pragma once
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/rewrite/rewrite.h"
#include "lib/support/sha256.h"
#include "lib/uop/graph.h"
#include "lib/uop/sint.h"
#include "lib/uop/uop_table.h"
#include "passes/tensor/tensor_job.h"

namespace tgc {

// The stages "number the uops" and "earliest rewrites". Mirror tinygrad schedule/rangeify.py (earliest_rewrites,
// add_tags, replace_contiguous).

// Ops whose value is contiguous in memory or needs no memory (schedule/indexing.py:ALWAYS_CONTIGUOUS).
inline constexpr OpSet kAlwaysContiguous{Op::CONTIGUOUS,  Op::ASSIGN, Op::COPY,          Op::BUFFER,
                                         Op::BUFFER_VIEW, Op::CONST,  Op::BIND,          Op::DEVICE,
                                         Op::MSELECT,     Op::MSTACK, Op::DEFINE_GLOBAL, Op::DEFINE_LOCAL,
                                         Op::DEFINE_REG,  Op::LOAD,   Op::KERNEL,        Op::ENCDEC};

// Returns a CONTIGUOUS of `u`; `u` itself if it is a CONTIGUOUS, or a BUFFER below any RESHAPEs and MULTIs.
UOp contiguous(UOp u);

// Runs the stage "number the uops": adds nodes, such as those that may become buffers, to `numbered`, and tags each of
// them with its index there. Returns the tagged sink.
UOp number_uops(UOp sink, std::vector<UOp>& numbered);
const RuleSet& add_tags();

UOp rewrite_earliest(UOp sink);
const RuleSet& earliest_rewrites_stage();
const RuleSet& split_reduceop_rules();     // rules of a nested rewrite of split-reduce: move an index to the base
const RuleSet& mop_cleanup();
const RuleSet& earliest_rewrites();
const RuleSet& replace_contiguous();

// The context of replace_contiguous(): if a permuted or reshaped view of a value has a contiguous copy, maps the value
// to this copy with the movements undone.
struct ContiguousViews {
  std::unordered_map<UOp, UOp> contiguous_by_base;
};

// Tensors on several devices. A MULTI is a tensor sharded along one axis: each device holds one part. Mirrors tinygrad
// schedule/multi.py and the multi-device helpers of uop/ops.py.

UOp make_device_node(Graph& graph, Arg device);            // `device` is a name or a tuple of names
UOp mselect(UOp u, int64_t device);                        // the part of `u` on device number `device`
UOp mstack(UOp like, std::span<const UOp> parts);          // one value from a part per device; has the dtype of `like`
UOp multi(UOp part, int64_t axis);                         // MULTI; throws Failure unless `part` is on several devices
UOp copy_to_device(UOp u, Arg device);
UOp copy_to_device(UOp u, Arg device, int64_t from);       // copies the part of `u` on device number `from`
UOp allreduce(UOp u, Op op, UOp device);
UOp device_number_in(UOp u);                               // the variable _device_num below `u`; else the empty UOp
// Shrinks each device's full copy of `u` along `axis` to the device's part (UOp._shard). Throws Failure unless `u` is
// on several devices, whose number divides the axis.
UOp shard(UOp u, int64_t axis);
// Pads each device's part along `axis` with zeros to the whole size (UOp._unshard). Throws Failure unless `u` is on
// several devices.
UOp unshard(UOp u, int64_t axis);

const RuleSet& multi_pm();           // ops on MULTI -> ops on the parts; includes replace_allreduce()
const RuleSet& replace_allreduce();  // for example, expands ALLREDUCE and copies between one device and several

// Runs the stage "multi_pm": replaces every MULTI by its parts. Sets job.scheduled_sink and job.multi_map. If no node
// is on several devices, returns `sink` unchanged, and job.multi_map stays empty.
UOp rewrite_multi(TensorJob& job, UOp sink);
bool is_multi_device(UOp sink);  // true if some node is on several devices

// Rangeify: decides which values are realized (stored in buffers), and which loop ranges index the input and output of
// each node. Mirrors tinygrad schedule/indexing.py.
struct IndexingContext {
  explicit IndexingContext(Graph& graph) : graph(graph), realize_map(graph), range_map(graph) {}

  enum class StoreReason : uint8_t {
    Output,       // the value is the base of a source of the sink
    OwnKernel,    // the op of the value needs a kernel or copy of its own, such as CONTIGUOUS, COPY or ASSIGN
    Source,       // an op such as COPY, MSELECT or ASSIGN can only read the value from a buffer
    UsersDiffer,  // the users of the value read it at different indices
    LoopsEnd,     // an EXPAND would make each iteration of the expanded loops compute the value again
  };
  struct RealizedAxes {
    bool has_axes = false;  // false if `axes` is not yet filled in
    std::vector<uint32_t> axes = {};  // ascending, except for axes that rangeify adds later
    StoreReason reason = StoreReason::OwnKernel;
    UOp reading_op = {};  // if the reason is Source: the op that reads the value
    bool has_axis(size_t axis) const;
  };
  // The index expressions of a node, one per axis of its input and of its output.
  struct NodeRanges {
    std::span<const UOp> input, output;
  };

  Graph& graph;
  UOpTable<RealizedAxes> realize_map;
  UOpTable<NodeRanges> range_map;
  int64_t next_range = 0;

  // Returns a new RANGE of `size` iterations; the constant 0 if `size` is 1; `size` itself if it is a RANGE.
  UOp new_range(Sint size, AxisType type = AxisType::LOOP);
  std::span<const UOp> copy_indices(std::vector<UOp>&& indices);   // copies `indices` into the graph's arena
};

const RuleSet& pm_generate_realize_map();

// Runs the stage "apply rangeify". Movement ops become index expressions; realized values become BUFFERIZEs read by
// INDEX.
UOp run_rangeify(UOp sink, IndexingContext& ctx);
const RuleSet& pm_apply_rangeify();
const RuleSet& mark_movements();     // rules of a nested rewrite: tag the movement ops of an ASSIGN's target

// A BUFFERIZE marks a value that is stored in a buffer, indexed by the ranges that the BUFFERIZE ends. Mirrors tinygrad
// schedule/indexing.py:BufferizeOpts and schedule/rangeify.py (bufferize_to_store, rangeify_codegen).

// The argument of a BUFFERIZE.
struct BufferizeOpts {
  Arg device = {};                          // of a local buffer: None, or the number of an axis instead of a device
  AddrSpace addrspace = AddrSpace::GLOBAL;
  bool is_removable = true;  // false if a COPY reads the value, or if its op (CONTIGUOUS, ...) needs the buffer

  static BufferizeOpts of(UOp bufferize);   // throws Failure if the arg is not BufferizeOpts
  Arg arg(Graph& graph) const;
};
UOp bufferize(UOp value, std::span<const UOp> ranges, const BufferizeOpts& opts, Arg tag = {});

// State of the rules that create buffers or split a graph into kernels (rangeify.py:LocalAddBufferContext).
struct LocalAddBufferContext {
  int64_t next_buffer_number = 0;
  int64_t next_global_number = 0;
  int64_t next_range_number = 0;
  // Each buffer, and the node that becomes the kernel's source for it; in order of first use.
  std::vector<std::pair<UOp, UOp>> buffers;
  std::unordered_map<UOp, size_t> buffer_indices;  // index of each buffer in `buffers`
  std::vector<UOp> vars;
  Arg opts = {};                                   // opts_to_apply of the kernel: the arg of a CONTIGUOUS
};

const RuleSet& pm_flatten_bufferize();   // BUFFERIZE over several ranges -> BUFFERIZE over one flat index, reshaped
const RuleSet& to_bufferview();          // CONTIGUOUS or BITCAST of a file -> BUFFER_VIEW
const RuleSet& pm_add_buffers();         // BUFFERIZE in global memory -> BUFFER and STORE
const RuleSet& pm_add_buffers_local();   // BUFFERIZE in global or local memory -> BUFFER or DEFINE_LOCAL, and STORE
const RuleSet& rangeify_codegen();       // for example, drops CONTIGUOUS from a kernel, adds LOADs of local memory
const RuleSet& add_local_buffers_rules();

UOp add_local_buffers(UOp sink);

// The stages "symbolic+reduce_collapse+debuf", which removes the BUFFERIZEs whose value is cheap to recompute, and
// "limit buffers". Mirrors tinygrad schedule/rangeify.py (cleanup_dead_axes to pm_limit_bufs).
const RuleSet& pm_const_buffer_folding();  // simplifies BUFFERIZEs, for example of constants and buffers
const RuleSet& pm_remove_bufferize();      // recomputes a value instead of storing it, if recomputing is cheap
const RuleSet& gated_substitute();         // nested rewrite: substitutes ranges; skips nodes without these ranges
const RuleSet& remove_bufferize_stage();

// The properties of a BUFFERIZE that can keep pm_remove_bufferize() from recomputing its value.
struct BufferRequirements {
  bool is_removable = true;     // false if the value must be stored
  size_t num_buffers = 0;       // number of buffers that its value reads
  bool has_buffer_reduction = false;  // true if its value has a reduction of a buffer
};
BufferRequirements buffer_requirements(UOp bufferize);

// Runs the stage "limit buffers": if a kernel would bind more buffers than its device allows, stores some operands in
// new buffers.
UOp limit_buffers(UOp sink, IndexingContext& ctx);
const RuleSet& pm_limit_bufs();

// The stages from BUFFERIZEs to kernels: "bufferize to store", "split kernels", "fix_assign", "remove all tags".
// Mirrors tinygrad schedule/rangeify.py (split_store, get_rangeify_map).

// Runs the stage "bufferize to store": replaces every BUFFERIZE in global memory by a STORE to a buffer, and tags every
// RANGE. Returns a SINK of the nodes with the values of tensors of the input graph.
UOp bufferize_to_store(UOp sink);
const RuleSet& bufferize_to_store_stage();
const RuleSet& pm_add_range_tags();

// Runs the stage "split kernels": each store with its ranges becomes a KERNEL whose AST uses DEFINE_GLOBALs.
UOp split_kernels(UOp sink);
const RuleSet& split_kernels_rules();
const RuleSet& to_define_global();   // for example, numbers buffers and ranges; collects bound variables
const RuleSet& pm_remove_tags();
const RuleSet& kernel_split();

// Runs the stage "fix_assign": makes assignments to buffers wait for kernels that read the old contents.
// Throws Failure on a cycle.
UOp fix_assign(UOp sink);

const RuleSet& remove_all_tags();

// The stage "rewrite for sched cache": graphs that differ only in the unique numbers of buffers and constants and in
// the values of variables get equal cache keys. Mirrors tinygrad engine/schedule.py:pm_pre_sched_cache.

// Renumbers buffers and unique constants, and removes the values of bound variables. Sets original_sink,
// normalized_sink, input_buffers and var_vals of job. Throws Failure if a variable has two values or one beyond int64.
UOp rewrite_for_sched_cache(TensorJob& job, UOp sink);
const RuleSet& pm_pre_sched_cache();

// Returns the cache key of the result of rewrite_for_sched_cache().
Sha256 sched_cache_key(UOp rewritten);

}  // namespace tgc
