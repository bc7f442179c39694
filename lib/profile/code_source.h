// The sources of a profile's kernels: which source line, and which UOps, made each instruction. The sources come from
// an INPUT that has the kernels, such as a recording. Each source is compiled with a line table, which is used only if
// the compiled code is that of the profile, byte for byte.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/driver/session.h"
#include "lib/profile/lane_access.h"
#include "lib/profile/profile_file.h"

namespace tgc::profile {

struct Profile;

// A node of the kernel's linear list, as `tgc dump --stage=linear` shows it.
struct LinearNode {
  size_t number = 0;      // the node's position in the list
  std::string op, dtype;  // "LOAD", "dtypes.float"
  bool prints_line = false;  // false: the node is printed inside a line of its user
};

// A load or store of global memory.
struct MemoryAccess {
  uint32_t line = 0;  // of the source
  LinearNode node;
  LaneAccess lanes;
};

struct CodeSource {
  std::string input;               // what has the kernel: "kernels.jsonl.gz#matmul.0"
  std::string target;              // what the source was compiled for: "AMD:HIP:gfx1100"
  std::string problem;             // why there are no lines; empty: there are
  std::vector<std::string> lines;  // the source
  std::vector<std::vector<LinearNode>> nodes;  // by line, those that print the line first; empty: unknown
  std::vector<MemoryAccess> accesses;  // whose addresses are known
  std::map<uint64_t, uint32_t> line_of;        // by address, lines from 1; 0: no line

  uint32_t line_at(uint64_t address) const;                                // 0: no line
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

}  // namespace tgc::profile
