#include "apps/tgc/help_recording.h"

namespace tgc {

std::string recording_text() {
  return R"(What a program compiles is recorded by the tinygrad that it runs with, 0.11 to 0.14, which needs no change:
  python -m tgc.export -o run.jsonl.gz -- my_program.py --its --arguments
Without the wheel, `python -m tgc.export` is `python .../tgc/scripts/tinygrad_export.py`; its --help says more.
It leaves golden records, which every command takes as an INPUT:
  run.jsonl.gz             the kernels, stage by stage; their ids are my_program.0, my_program.1, ...
  run.tensor.jsonl.gz      the schedules
  run.inputs/ID.in.npz     with --save-inputs: what kernel ID read when it first ran
  run.inputs/ID.out.npz    and what it stored
  run.jit.jsonl.gz         with --walk: the calls of TinyJits, for `tgc lint`
And then:
  tgc records run.jsonl.gz                                what is in it
  tgc check run.jsonl.gz run.tensor.jsonl.gz --show=1     where that tinygrad does something else than 0.12.0
  tgc dump run.jsonl.gz#my_program.0 --stage=changed      a kernel, stage by stage
  tgc run run.jsonl.gz#my_program.0                       whether it computes what REF does, with drawn arrays;
    --inputs=run.inputs/{}.in.npz                         with the program's own,
    --expect=run.inputs/{}.out.npz                        and whether it is what the program got
A single graph needs no recording: what print(uop), pyrender(uop) and print_uops(list) show are INPUTs, too.
)";
}

}  // namespace tgc
