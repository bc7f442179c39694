// Collects the content of a page from an INPUT of any kind.
#pragma once
#include <string>

#include "lib/driver/session.h"
#include "lib/view/page.h"

namespace tgc {

struct ViewPlan {
  std::string input = "-", kernel;  // INPUT and --kernel, as Source::open takes them; or a trace file
  std::string other;                // a second input to compare with; empty: none
  bool later = false;               // compile kernels of a tensor graph only when the page asks for them
  bool assembly = true;             // include what compilers make: LLVM IR and assembly
  bool strip_paths = false;         // omit the folders of file names
  bool run = false;                 // run and time kernels
  bool bisect = false;              // bisect a kernel that computes a wrong result
  bool prove = false;               // decide whether each rewrite of a kernel is right
  std::string device;               // device of `run` and `bisect`, as `tgc run --device` takes it
};

// Runs the pipeline on all graphs of the input and on each kernel of a tensor graph. Kernels with the same graph and
// target are recorded once. A graph that a stage refuses is shown up to that stage. With two inputs, golden records and
// folders that `tgc dump -o` wrote are shown as recorded, without compiling them, because `tgc diff` compares these.
// Returns an error if an input cannot be read.
Result<ViewContent> gather_view(const Session& session, const ViewPlan& plan);

}  // namespace tgc
