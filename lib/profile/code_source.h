// The sources of a profile's kernels: which source line, and which UOps, made each instruction. The sources come from
// an INPUT that has the kernels, such as a recording. Each source is compiled with a line table. If the compiled code
// is not that of the profile, byte for byte, the instructions of both are aligned, and the lines are approximate.
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
  size_t number = 0;      // the node's position in the list
  std::string op, dtype;  // "LOAD", "dtypes.float"
  bool prints_line = false;  // false: the node is printed inside a line of its user
};

// A load or store whose address is known.
struct MemoryAccess {
  uint32_t line = 0;  // line of the source
  LinearNode node;
  std::optional<LaneAccess> lanes;  // of global memory
  std::optional<BankAccess> banks;  // of local memory
  std::optional<int64_t> next;      // bytes to the address of the innermost loop's next iteration; empty: no loop
};

struct CodeSource {
  std::string input;               // what has the kernel: "kernels.jsonl.gz#matmul.0"
  std::string target;              // what the source was compiled for: "AMD:HIP:gfx1100"
  std::string problem;             // why there are no lines; empty: there are
  std::vector<std::string> lines;  // the source
  std::vector<std::vector<LinearNode>> nodes;  // by line, those that print the line first; empty: unknown
  std::vector<MemoryAccess> accesses;
  std::optional<KernelWork> work;      // of a kernel of this name, also if there are no lines
  struct Line {
    uint32_t line = 0;      // the first line is 1; 0: no line
    bool is_exact = true;   // false: the instruction of the compiled code is another, or has other registers
  };
  std::map<uint64_t, Line> line_of;  // by address
  std::string differs;               // how the compiled code differs from the profile's; empty: not by a byte

  uint32_t line_at(uint64_t address) const;                                // 0: no line
  bool is_exact_at(uint64_t address) const;
  std::string_view text_of(uint32_t line) const;                           // without indentation
  const std::vector<LinearNode>& nodes_of(uint32_t line) const;
};
using CodeSources = std::map<const Program*, CodeSource>;

// "12 LOAD float (8 MUL, 9..11 ADD)": the nodes that print a line, and in parentheses those printed inside it, without
// those that only take apart or combine values and addresses.
std::string nodes_text(const std::vector<LinearNode>& nodes);

// Finds the sources of all chosen kernels in `input`, an INPUT; empty: compiles the ASTs that the profile itself has.
// Kernels are compared by name, up to the number that tells kernels of one name apart ("E_4n1"). Errors: `input` cannot
// be read.
Result<CodeSources> find_sources(const Session& session, const std::string& input, const Profile& profile);

// The lines of a kernel's instructions, by the lines of another version of its code.
struct AlignedLines {
  std::vector<CodeSource::Line> lines;  // by instruction
  size_t pairs = 0;                     // instructions that both versions have, up to registers
  std::string differs;                  // "; 2 of 63 instructions are only in the profile's: ..."
};
// An instruction that only `code` has gets the line that its neighbours share; one without an operation of its own,
// such as a wait, gets the line of the instruction after it.
AlignedLines align_lines(std::span<const ListedInstruction> code, std::span<const ListedInstruction> with_lines);

}  // namespace tgc::profile
