// Finds the source lines and UOps of the instructions of a profile's kernels, by compiling these kernels.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/driver/session.h"
#include "lib/profile/kernel_code.h"
#include "lib/profile/kernel_work.h"
#include "lib/profile/lane_access.h"
#include "lib/profile/profile_file.h"
#include "lib/uop/uop.h"

namespace tgc::profile {

struct Profile;

// A node of the kernel's linear list, as `tgc dump --stage=linear` shows it.
struct LinearNode {
  size_t list_index = 0;
  std::string op, dtype;
  bool has_own_line = false;  // false: it is printed in the line of a node that uses it
};

struct MemoryAccess {
  uint32_t line = 0;
  LinearNode node;
  std::optional<LaneAccess> lane_access;  // nullopt: not to global memory
  std::optional<BankAccess> bank_access;  // nullopt: not to local memory
  // loop_stride() of loop_of_access(); nullopt: unknown, without a loop, or not to global memory
  std::optional<int64_t> loop_step_bytes;
  bool is_reduction = false;
};

struct CodeSource {
  std::string input;               // where the source comes from: "kernels.jsonl.gz#matmul.0"
  std::string target;
  std::string missing_reason;
  std::vector<std::string> lines;
  // the nodes of each line, those with has_own_line first; empty: unknown
  std::vector<std::vector<LinearNode>> line_nodes;
  std::vector<MemoryAccess> accesses;
  std::optional<std::string> opts;        // the applied Opts, as tinygrad prints them; nullopt: unknown
  std::optional<KernelWork> kernel_work;  // may be set even if no source was found
  struct SourceLine {
    uint32_t line = 0;      // lines count from 1; 0: unknown
    bool is_exact = true;   // false: the compiled code has no counterpart with the same text
  };
  std::map<uint64_t, SourceLine> line_by_address;  // by address in the profile's code
  std::string difference_text;
  uint32_t line_at_address(uint64_t address) const;
  bool is_exact_at_address(uint64_t address) const;
  std::string_view text_of_line(uint32_t line) const;
  const std::vector<LinearNode>& nodes_of_line(uint32_t line) const;
};
using CodeSources = std::map<const GpuProgram*, CodeSource>;

// Returns the nodes of a line as text: "12 LOAD float (8 MUL, 9..11 ADD)".
std::string nodes_text(const std::vector<LinearNode>& nodes);

// Finds the sources of the chosen kernels in the INPUT `input`; if it is empty, compiles the ASTs in the profile. Fails
// if `input` or the session's settings cannot be read, or if the session's target is unknown or not for AMD's GPUs.
Result<CodeSources> find_sources(const Session& session, const std::string& input, const Profile& profile);

struct AlignedLines {
  std::vector<CodeSource::SourceLine> instruction_lines;
  size_t num_matched = 0;                       // instructions with a counterpart
  std::string difference_text;                  // "; 2 of 63 instructions are only in the profile's: ..."
};
// Gives each instruction of `code` the line of its counterpart in `with_lines`. Without one, a wait or another
// instruction for scheduling has the line of the next instruction with a counterpart. Any other one has the line that
// its nearest neighbours with counterparts share, or 0 if they have different lines. If the code is too long to be
// aligned, all lines are 0.
AlignedLines align_lines(std::span<const ListedInstruction> code, std::span<const ListedInstruction> with_lines);

}  // namespace tgc::profile
