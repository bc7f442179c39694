// Collects the graphs of one INPUT or two for the page of `tgc view`, with their schedule, times and verdicts.
#pragma once
#include <string>

#include "lib/driver/session.h"
#include "lib/view/page.h"

namespace tgc {

struct ViewPlan {
  std::string input = "-", kernel;  // INPUT (also a trace file or a folder of `tgc dump -o`) and --kernel
  std::string other_input;          // a second INPUT to compare with; empty if there is one INPUT
  bool compiles_later = false;      // compile kernels of a tensor graph only when the page requests them
  bool includes_assembly = true;    // include the LLVM IR and assembly that compilers make of kernels
  bool strips_paths = false;        // omit the folders of file names
  bool runs_kernels = false;        // run and time kernels
  bool bisects_kernels = false;     // find the rewrite that makes a kernel's result wrong
  bool proves_rewrites = false;     // decide for each rewrite of a kernel whether it is right
  // device of `runs_kernels` and `bisects_kernels`, as `tgc run --device` takes it
  std::string run_device;
};

// Runs the pipeline on all graphs of the input and on each kernel of a tensor graph. Kernels of a schedule
// with the same graph and target are compiled once. A graph that a stage refuses is shown up to that stage. Graphs of
// other releases, trace files and folders are shown as recorded; with two inputs, golden records, too, because
// `tgc diff` compares the recorded stages. Errors: an input cannot be read; --run or --bisect fails or does not apply;
// one of two inputs has no graph, or they are of different kinds.
Result<ViewContent> gather_view(const Session& session, const ViewPlan& plan);

}  // namespace tgc
