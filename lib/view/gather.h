// Collects the content of the page of `tgc view`.
#pragma once
#include <string>

#include "lib/driver/session.h"
#include "lib/view/page.h"

namespace tgc {

struct ViewRequest {
  // `input` is an INPUT, a trace file or a folder of `tgc dump -o`; `kernel` is the value of --kernel.
  std::string input = "-", kernel;
  std::string other_input;          // a second input to compare with, or empty
  // If true, a kernel of a tensor graph is compiled only when the page requests it. should_prove_rewrites overrides
  // this.
  bool should_compile_later = false;
  bool should_include_assembly = true;  // whether to include the LLVM IR and assembly of kernels
  bool should_strip_paths = false;  // whether to omit folders of files, and commands that name files
  bool should_run_kernels = false;
  bool should_bisect_kernels = false;  // whether to find the rewrite that makes a kernel's result wrong
  bool should_prove_rewrites = false;
  // a device in the syntax of `tgc run --device`
  std::string run_device;
};

// Compiles each graph of the input and the kernels of a tensor graph, equal kernels once. If a stage fails, the
// recording has the stages before it. Graphs that tgc cannot compile, trace files and folders are shown as recorded;
// with two inputs, golden records, too. Fails if an input cannot be read, if a compilation cannot begin, if a kernel of
// a schedule cannot be made, and if --run or --bisect fails or does not apply. The first graphs of
// two inputs must be two tensor graphs or two kernels.
Result<ViewContent> gather_view(const Session& session, const ViewRequest& plan);

}  // namespace tgc
