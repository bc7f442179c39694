// Collects the content of the page of `tgc view` for one or two INPUTs: graphs, schedule, times and verdicts.
#pragma once
#include <string>

#include "lib/driver/session.h"
#include "lib/view/page.h"

namespace tgc {

struct ViewPlan {
  std::string input = "-", kernel;  // INPUT (also a trace file or a folder of `tgc dump -o`) and --kernel
  std::string other_input;          // a second INPUT to compare with; empty if there is one INPUT
  bool compiles_later = false;      // without proves_rewrites: compile kernels of a tensor graph on the page's request
  bool includes_assembly = true;    // include the LLVM IR and assembly that compilers make of kernels
  bool strips_paths = false;        // omit folders of file names, and commands that name files
  bool runs_kernels = false;        // run and time kernels
  bool bisects_kernels = false;     // find the rewrite that makes a kernel's result wrong
  bool proves_rewrites = false;     // prove or refute each rewrite of a kernel
  // device of `runs_kernels` and `bisects_kernels`, as `tgc run --device` takes it
  std::string run_device;
};

// Runs the pipeline on all graphs of the input and on each kernel of a tensor graph; equal kernels for the same target
// once. If a stage fails, the graph has the stages before it. Graphs of other releases, trace files and folders are
// taken as recorded; with two inputs, golden records, too, because `tgc diff` compares the recorded stages. Fails if an
// input cannot be read or its target is unknown, if a kernel of a schedule cannot be made, if --run or --bisect fails
// or does not apply, or if one of two inputs has no graph or their first graphs are of different kinds (tensor graph,
// kernel).
Result<ViewContent> gather_view(const Session& session, const ViewPlan& plan);

}  // namespace tgc
