#pragma once
#include <doctest/doctest.h>
#include <algorithm>
#include <string>
#include <vector>

#include "lib/compile/compile.h"
#include "lib/emulate/hip/builder.h"
#include "lib/emulate/hip/driver.h"
#include "lib/emulate/hip/waits.h"
#include "lib/support/lines.h"

namespace tgc::hip {

class TestWave {
 public:
  // `text` has one instruction per line, at the addresses 0x100, 0x104, ...; s_endpgm is appended. Throws Failure.
  explicit TestWave(std::string text, GpuFamily family = GpuFamily::Gfx11, uint32_t num_halves = 1)
      : assembly_(std::move(text)) {
    assembly_ += "\ns_endpgm";
    code.name = "k", code.family = family, code.num_halves = num_halves;
    code.descriptor.private_bytes = 64;
    for (std::string_view line : lines_of(assembly_)) {
      if (trimmed_line(line).empty()) continue;
      size_t from = code.instructions.size();
      for (size_t next; !line.empty(); line = next == line.npos ? std::string_view() : line.substr(next + 4))
        code.instructions.push_back(parse_instruction(line.substr(0, next = line.find(" :: "))));
      for (size_t n = from; n < code.instructions.size(); n++) code.instructions[n].address = address_;
      code.instructions.back().bytes = 4;
      address_ += 4;
    }
    code.has_waits = true;
    CodeBuilder(code).build_ops();
    scalar_file_.resize(code.num_scalars()), vector_file_.resize(size_t(kVectorFileSize) * num_halves * kNumLanes),
        own_memory_.resize(64 * 64);
    std::ranges::copy(code.constants, scalar_file_.begin() + kFirstConstant);
    launch.code = &code;
    launch.block = {num_halves * kNumLanes, 1, 1};
    group.launch = &launch;
    group.lds_memory.resize(1024), group.is_byte_stored.resize(1024, 1);
    wave.scalar_registers = scalar_file_.data(), wave.vector_registers = vector_file_.data(),
    wave.num_halves = num_halves;
    wave.group = &group, wave.code = &code, wave.private_memory = own_memory_.data();
    wave.scalar_registers[kExec] = UINT32_MAX, wave.scalar_registers[kExec + 1] = num_halves == 2 ? UINT32_MAX : 0;
  }

  // Returns the fault's text, or "". With `watches`, checks wait instructions as --race does.
  std::string run(bool watches = false) {
    WaitChecker waits;
    if (watches) wave.pending_waits = &waits;
    try {
      run_wave(wave);
    } catch (const KernelFault& fault) { return fault.text; }
    return "";
  }
  void set_lanes(uint32_t register_index, uint32_t value) {
    for (uint32_t lane = 0; lane < wave.num_halves * kNumLanes; lane++) wave.lane(register_index, lane) = value;
  }
  void set_float_lanes(uint32_t register_index, float value) {
    set_lanes(register_index, std::bit_cast<uint32_t>(value));
  }
  float float_lane(uint32_t register_index, uint32_t lane = 0) const {
    return std::bit_cast<float>(wave.lane(register_index, lane));
  }

  TranslatedKernel code;
  KernelLaunch launch;
  WorkGroup group;
  Wave wave;

 private:
  std::string assembly_;
  uint64_t address_ = 0x100;
  std::vector<uint32_t> scalar_file_, vector_file_;
  std::vector<std::byte> own_memory_;
};

// Compiles a kernel 'k' with this LLVM IR body, with the compiler of the AMD:LLVM device.
inline std::string code_object(const std::string& parameters, const std::string& body, const char* arch = "gfx1100") {
  CompileJob job = make_compile_job("AMD", "LLVM", arch).value_or_throw();
  job.source =
      "declare i32 @llvm.amdgcn.workitem.id.x()\ndeclare i32 @llvm.amdgcn.workgroup.id.x()\n"
      "declare void @llvm.amdgcn.s.barrier()\n"
      "define amdgpu_kernel void @k(" +
      parameters + ") {\n" + body + "\nret void\n}\n";
  job.name = "k", job.annotates_lines = true;
  return compile_without_cache(job, Artifact::Binary).value_or_throw();
}

}  // namespace tgc::hip
