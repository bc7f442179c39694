#include "apps/tgc/command.h"
#include "lib/execute/emulate_program.h"

namespace tgc {

void add_emulate(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<EmulateOptions>();
  cmd.set_description("Run a program that uses tinygrad on an emulated GPU, without a GPU, its driver or its compiler.",
               "tgc emulate --race -- python3 prog.py --its --arguments",
               "The program uses its own tinygrad, 0.12.0 or later. The emulator checks every access and barrier of a\n"
               "kernel, and --race finds threads that use the same memory without a barrier; a fault is an error of\n"
               "tinygrad's driver, with the source line. The kernels run on the CPU, hundreds of times slower.\n"
               "Device:     --device, else the environment variable DEV (which may name a renderer: DEV=CUDA:PTX),\n"
               "            else CUDA. AMD is another name of HIP, tinygrad's device for ROCm's library.\n"
               "GPU:        --device=CUDA::sm_80 or HIP::gfx942; default: sm_90, gfx1100\n"
               "Threads:    TGC_CUDA_EMULATOR_THREADS or TGC_HIP_EMULATOR_THREADS; default: all processors\n"
               "Exit code:  the program's, or 2 if it cannot be run");
  cmd.add_positional("PROGRAM", o.command, "the program and its arguments, after --")->required();
  cmd.set_group(OptionGroup::Device);
  cmd.add_option("--device", o.device, "GPU", "emulate CUDA or HIP, optionally with an architecture: CUDA::sm_80");
  cmd.add_cli_flag("--race", o.checks_races, "report data races between threads");
  cmd.set_action([&o]() -> int { throw Failure(emulate_program(o)); });
}

}  // namespace tgc
