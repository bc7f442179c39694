// Collects the content of the page of `tgc view`.
#pragma once
#include <string>

#include "lib/driver/session.h"
#include "lib/view/page.h"

namespace tgc {

struct ViewRequest {
  std::string input = "-", kernel;  // INPUT (also a trace file or a folder of `tgc dump -o`) and --kernel
  std::string other_input;          // a second INPUT to compare with, or empty
  // unless should_prove_rewrites: compile a tensor graph's kernels when the page asks
  bool should_compile_later = false;
  bool should_include_assembly = true;  // the LLVM IR and assembly that compilers make of kernels
  bool should_strip_paths = false;  // omit folders of files, and commands that name files
  bool should_run_kernels = false;
  bool should_bisect_kernels = false;  // find the rewrite that makes a kernel's result wrong
  bool should_prove_rewrites = false;
  // as `tgc run --device` takes it
  std::string run_device;
};

// Runs the pipeline on all graphs of the input and on each kernel of a tensor graph, on equal ones once. If a stage
// fails, the graph has the stages before it. Graphs of other releases, trace files and folders are taken as recorded;
// with two inputs, golden records, too. Fails if an input cannot be read or its target is unknown, if a kernel of a
// schedule cannot be made, if --run or --bisect fails or does not apply, or if one of two inputs has no graph or their
// first graphs are a tensor graph and a kernel.
Result<ViewContent> gather_view(const Session& session, const ViewRequest& plan);

}  // namespace tgc
