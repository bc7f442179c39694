// Imports a tensor graph of any tinygrad release as kernels of tgc's IR. Each kernel computes one value of the graph as
// the graph says it: no rule of a scheduler or of a simplifier takes part, so that the kernels show what a scheduler
// should have made. README.md describes how.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/import/import.h"

namespace tgc {

// An array that the kernels read or store.
struct TensorMemory {
  DType dtype;
  int64_t size = 0;          // number of elements; of a buffer on several devices, of all devices together
  int64_t devices = 1;       // the parts of equal size that the devices of a buffer hold, one after another
  bool is_replicated = false;  // each device holds the same content
  UOp buffer = {};           // the BUFFER or PARAM of the original graph that the array stands for; empty: a result
  std::optional<size_t> view_of = {};  // the array that the array is a part of
  int64_t offset = 0;                  // for a part of a buffer: offset in bytes
};

struct TensorKernel {
  UOp ast;                       // a SINK in a graph of its own
  std::vector<size_t> memories;  // the number of the array for each DEFINE_GLOBAL, by slot
  std::vector<std::pair<std::string, int64_t>> variables;
};

// A value of the original graph, or the content of one of its buffers.
struct TensorOutput {
  size_t memory = 0;
  std::vector<int64_t> shape;
  UOp buffer;  // the BUFFER or PARAM whose content the output is; empty: the output is a value
  std::optional<size_t> source = {};  // for a value: the number of the sink's source, with TensorImport::with_values
};

struct TensorProgram {
  std::vector<std::shared_ptr<Graph>> graphs;  // graphs of the kernels
  std::vector<TensorMemory> memories;
  std::vector<TensorKernel> kernels;  // in the order of their execution
  std::vector<TensorOutput> outputs;  // for each source of the sink
  bool has_invalid = false;           // a value has Invalid elements
};

// Values of the variables of a tensor graph: by name, and by the slot of their PARAM.
struct TensorVariables {
  std::map<std::string, int64_t> by_name = {};
  std::map<int64_t, int64_t> by_slot = {};
};

// Imports the tensor graph under `sink`, or a call of such a graph, or a LINEAR list of calls of kernels. If a source
// of the sink stores to a buffer, the output is the buffer's content. Errors name the node that cannot be imported, as
// those of import_graph do. Adds nodes to the graph of `sink`.
struct TensorImport {
  UOpSpan arguments = {};    // replace the PARAMs of the graph, and the arguments of its call; nodes of its graph
  int invalid = 0;           // the number that an Invalid element of a value gets: it may be any number
  bool with_values = false;  // each source of the sink that has a value is an output, besides the buffers it stores to
};
Result<TensorProgram> import_tensor_graph(UOp sink, const TensorVariables& variables, NotImportable* why = nullptr,
                                          const TensorImport& what = {});

namespace import {
bool is_body_of_kernel(UOp u);  // true for a SINK that is a kernel, not the body of a function
}

// Returns `root` with the bodies of functions in place of their calls. The calls of kernels stay.
Result<UOp> inline_calls(UOp root);

// The two sides of a recorded rewrite of tensor graphs, as kernels. The first output holds the values of `before`, the
// second those of `after`: one for each iteration of the loops around a side, and each element. Common sources that may
// have any values are arrays of their own.
struct TensorSides {
  TensorProgram program;
  bool have_same_places = false;  // each element of one output is the element of the other output
  std::vector<UOp> loops = {};    // the loops around a side, the outermost first
};
Result<TensorSides> import_tensor_sides(UOp before, UOp after, const TensorVariables& variables);

// The values of a tensor graph, and the same values after a scheduler gave them loops, as kernels. Outputs 2i and 2i+1
// hold pair i, for all iterations of the loops around it. The pairs of a value's sources come before the pair of the
// value, so that the rewrite of the first pair that differs is the cause.
struct TensorPairs {
  TensorProgram program;
  std::vector<UOp> culprits;  // for each pair, the node of the graph before whose rewrite made the pair
};
// Returns pairs of the graph before and after the stage that makes the loops. Stored values are arrays of any content.
// A place of a value follows from the loops around the store and from the movement ops between them. `stages` are the
// STAGEs as the rewrites made them, around nodes of the graph before.
Result<TensorPairs> import_tensor_pairs(UOp before, UOp after, const std::vector<UOp>& stages,
                                        const TensorVariables& variables);

}  // namespace tgc
