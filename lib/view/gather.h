// The content of a page, of an INPUT of any kind.
#pragma once
#include <string>

#include "lib/driver/session.h"
#include "lib/view/page.h"

namespace tgc {

struct ViewPlan {
  std::string input = "-", kernel;  // as Source::open has them; or a trace file
  std::string other;                // a second input to compare with; empty: none
  bool later = false;               // kernels of a tensor graph are run only when they are asked for
  bool assembly = true;             // what only compilers make
  bool strip_paths = false;         // folders of files that are named are left out
  bool run = false;                 // kernels are run and timed
  bool bisect = false;              // who is to blame is sought, of a kernel that computes something else
  std::string device;               // where both run, as `tgc run --device` has it
};

// Runs the pipeline over all graphs of the input, and each kernel of a tensor graph once. Kernels that are alike (the
// same graph for the same target) are recorded once. What a stage refuses is shown up to there. Of two inputs, golden
// records and folders that `tgc dump -o` wrote are shown as they were recorded, as `tgc diff` compares them. Errors: an
// input that cannot be read.
Result<ViewContent> gather_view(const Session& session, const ViewPlan& plan);

}  // namespace tgc
