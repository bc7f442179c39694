// Finds the sources of a profile's kernels: which source line, and which UOps, made each instruction. The sources come
// from an INPUT that has the kernels, such as a recording, or from the ASTs in the profile. Each source is compiled
// with a line table. If the compiled code is not that of the profile, byte for byte, the instructions of both are
// aligned, and some lines are approximate.
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
  size_t list_index = 0;      // the node's index in the list
  std::string op, dtype;      // "LOAD", "dtypes.float"
  bool has_own_line = false;  // true: it has a line of its own; false: it is printed in the line of a node that uses it
};

// A LOAD or STORE whose addresses in a wave are known.
struct MemoryAccess {
  uint32_t line = 0;  // line of the source
  LinearNode node;
  std::optional<LaneAccess> lane_access;  // nullopt if it does not access global memory
  std::optional<BankAccess> bank_access;  // nullopt if it does not access local memory
  // bytes from the address to the address in the innermost loop's next iteration; nullopt: unknown, or no loop
  std::optional<int64_t> loop_step_bytes;
  bool is_reduction = false;             // true if this loop is a reduction
};

struct CodeSource {
  std::string input;               // where the source comes from: "kernels.jsonl.gz#matmul.0"
  std::string target;              // the target that the source was compiled for: "AMD:HIP:gfx1100"
  std::string missing_reason;      // why no source was found; empty if one was found
  std::vector<std::string> lines;  // the lines of the source
  // for each line its nodes, first those with has_own_line; empty: unknown, because tgc renders another source
  std::vector<std::vector<LinearNode>> line_nodes;
  std::vector<MemoryAccess> accesses;
  std::optional<std::string> opts;        // the applied opts, as tinygrad prints them; nullopt: unknown
  std::optional<KernelWork> kernel_work;  // work of a kernel with this name, also if no source was found
  struct Line {
    uint32_t line = 0;      // the first line is 1; 0: unknown
    bool is_exact = true;   // false: the compiled code has no instruction with this text here
  };
  std::map<uint64_t, Line> line_of;          // by address of an instruction in the profile
  std::string difference_text;               // how the compiled code differs from the profile's; empty: both are equal
  uint32_t line_at(uint64_t address) const;  // returns 0 if the line is unknown
  bool is_exact_at(uint64_t address) const;
  std::string_view text_of(uint32_t line) const;                           // returns the line without indentation
  const std::vector<LinearNode>& nodes_of(uint32_t line) const;
};
using CodeSources = std::map<const Program*, CodeSource>;

// Returns the nodes of a line as text, such as "12 LOAD float (8 MUL, 9..11 ADD)": those with has_own_line, and in
// parentheses those that are printed inside the line, without nodes that only compute addresses, convert, order, or
// take apart or combine vectors.
std::string nodes_text(const std::vector<LinearNode>& nodes);

// Finds the sources of all chosen kernels in the INPUT `input`; if it is empty, compiles the ASTs in the profile. A
// kernel of the INPUT belongs to a kernel of the profile if both have the same name, apart from a number at the end
// that distinguishes kernels ("E_4" and "E_4n1"). Errors: `input` cannot be read; the session's target is not for AMD's
// GPUs.
Result<CodeSources> find_sources(const Session& session, const std::string& input, const Profile& profile);

// The source lines of a kernel's instructions, taken from another version of its code.
struct AlignedLines {
  std::vector<CodeSource::Line> instruction_lines;  // by instruction
  size_t num_matched = 0;                       // instructions that both versions have, up to mask_registers()
  std::string difference_text;                  // text such as "; 2 of 63 instructions are only in the profile's: ..."
};
// Gives each instruction of `code` the line of its counterpart in `with_lines`. An instruction without a counterpart
// has the line that its nearest neighbours with counterparts share, if they share one; a wait or another instruction
// without an operation has the line of the next instruction that has a counterpart.
AlignedLines align_lines(std::span<const ListedInstruction> code, std::span<const ListedInstruction> with_lines);

}  // namespace tgc::profile
