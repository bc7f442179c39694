// Imports tensor graphs, and the sides of their rewrites, as kernels of tgc's IR, by the definitions of the ops,
// without rules of a scheduler. README.md describes how.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/import/import.h"

namespace tgc {

struct TensorMemory {
  DType dtype;
  int64_t num_elements = 0;    // of a buffer on several devices: of all devices together
  int64_t num_devices = 1;     // each device has an equal part of the elements, in the order of the devices
  bool is_replicated = false;  // each device holds the same content
  // the BUFFER, PARAM, DEFINE_GLOBAL or (for sides and pairs) common value with this content; empty for other arrays
  UOp buffer = {};
  std::optional<size_t> view_of = {};  // the larger array of which this array is a part
  int64_t view_offset = 0;             // where the part begins, in bytes
};

struct TensorKernel {
  UOp ast;                       // a SINK in a graph of its own
  std::vector<size_t> memories;  // by slot of a DEFINE_GLOBAL: index into TensorProgram::memories
  std::vector<std::pair<std::string, int64_t>> variables;
};

// A value of the original graph, or the content of one of its buffers after all stores.
struct TensorOutput {
  size_t memory_index = 0;  // index into TensorProgram::memories
  std::vector<int64_t> shape;
  UOp buffer;  // the BUFFER, PARAM or DEFINE_GLOBAL with this content; empty if the output is a value
  // index of the source of the sink with this value; set only with TensorImportOptions::should_output_values
  std::optional<size_t> source_index = {};
};

struct TensorProgram {
  std::vector<std::shared_ptr<Graph>> graphs;
  std::vector<TensorMemory> memories;
  std::vector<TensorKernel> kernels;
  std::vector<TensorOutput> outputs;  // the values of the sink's sources, and the buffers to which they store
  bool has_invalid = false;
};

// Values of variables, by name or by the slot of the PARAM.
struct TensorVariables {
  std::map<std::string, int64_t> values_by_name = {};
  std::map<int64_t, int64_t> values_by_slot = {};
};

struct TensorImportOptions {
  UOpSpan arguments = {};  // by slot: values of the PARAMs; for a call, used only if as many as its arguments
  int invalid_value = 0;  // replaces Invalid elements of values
  bool should_output_values = false;  // make each source's value an output, besides the buffers it stores to
};
// Imports the tensor graph under `sink`: a SINK, a call of such a graph, or a LINEAR list of calls of kernels. If a
// source of the sink stores to a buffer, the output is the buffer's content. If a node cannot be imported, sets `why`
// (may be null). Adds nodes to the graph of `sink`.
Result<TensorProgram> import_tensor_graph(UOp sink, const TensorVariables& variables, NonImportableNode* why = nullptr,
                                          const TensorImportOptions& what = {});

namespace import {
bool is_body_of_kernel(UOp u);  // true for a PROGRAM or a kernel's SINK
}

// Replaces calls of functions by the functions' bodies, and keeps calls of kernels. Fails, for example, if the calls
// are nested too deep or have too many nodes, or if an argument is missing.
Result<UOp> inline_calls(UOp root);

// Both sides of a recorded rewrite of a tensor graph, as kernels. The first output holds the values of `before`, the
// second those of `after`: an element for each device, each iteration of `loops` and each element of the side. Where
// possible, common reductions, copies and stored values are input arrays, because the rewrite must be right for all of
// their values. Two stores are compared by the content of their buffer.
struct TensorSidesProgram {
  TensorProgram program;
  bool have_same_shapes = false;  // the sides have equal shapes
  std::vector<UOp> loops = {};    // the RANGEs around either side, the outermost first
};
// Fails if a side cannot be imported, or if the sides have no values that can be compared.
Result<TensorSidesProgram> import_tensor_sides(UOp before, UOp after, const TensorVariables& variables);

// Kernels that compute the values of a tensor graph before and after the stage of the scheduler that makes loops.
// Outputs 2i and 2i+1 hold pair i, for all iterations of the loops around the value. The pairs of a value's sources
// come before the pair of the value, so the rewrite of the first pair that differs is the cause.
struct TensorPairsProgram {
  TensorProgram program;
  std::vector<UOp> culprits;  // by pair: the node of the graph before the stage whose rewrite made it
};
// Pairs the values of `before` and `after`, the graphs before and after that stage. Stored values are input arrays. The
// loops around a store and the movement ops below it define the place at which a value is computed. `stages` are the
// STAGEs that the rewrites made around nodes of `before`. A value without a known counterpart may have no pair. Fails
// if the graphs cannot be compared.
Result<TensorPairsProgram> import_tensor_pairs(UOp before, UOp after, const std::vector<UOp>& stages,
                                               const TensorVariables& variables);

}  // namespace tgc
