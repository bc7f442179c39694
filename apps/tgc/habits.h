// tinygrad's habits: what its environment variables print and check of a kernel, for every command that compiles (dump, run): DEBUG=1 to 7,
// DEBUG_LINEARIZE=1, IGNORE_OOB=0. They print to standard error, for standard output is the command's own.
//
//   DEBUG=1  a tensor graph's schedule
//   DEBUG=2  the kernel's line (run: with its time)     DEBUG=5  the AST, as pyrender text
//   DEBUG=3  the optimizer's list                       DEBUG=6  the linear list, as print_uops shows it
//   DEBUG=4  the source                                 DEBUG=7  the machine code, disassembled
#pragma once
#include <optional>
#include <string>

#include "lib/compilation/outputs.h"
#include "passes/program.h"

namespace tgc {

// Whether a variable is set that wants to see kernels: they are then compiled whole, and one after another.
bool has_habits(const Settings& settings);

// When a tensor graph is scheduled: "scheduled    3 kernels in     1.20 ms | CACHE MISS 1234abcd | 512 uops in cache".
void show_schedule(const Settings& settings, size_t kernels, double seconds, const std::string& key, size_t nodes);

// When a kernel's stages begin: the AST.
void show_ast(const Settings& settings, UOp ast);

// When a kernel is fully rewritten: its line without times (unless it `runs`, then show_kernel is to come), the list, the optimizer's list, the source, the disassembly, the linearizer's order; and the bounds of its
// accesses are proven. An access that may lie outside is an error, with a counterexample when there is one.
Status show_compiled(const Settings& settings, UOp sink, KernelOutputs& outputs, bool runs = false);

// What is known of a kernel that was run.
struct KernelTime {
  double seconds = 0, seconds_in_all = 0;
};
// tinygrad's line of DEBUG=2: "*** CPU        1 E_4_4       arg  3 mem   0.00 GB tm ...". `number` counts kernels from 1; `mem_used` is in bytes.
std::string kernel_line(const ProgramInfo& info, const std::string& device, size_t number, double mem_used, std::optional<KernelTime> time, bool color);
// Prints it when DEBUG is 2 or more, counting the kernels of this process; of a kernel that is not run, without times.
void show_kernel(const Settings& settings, const ProgramInfo& info, const std::string& device, double mem_used = 0, std::optional<KernelTime> time = {});

}  // namespace tgc
