// The sources of a profile's kernels: which source line, and which UOps, made each instruction. The sources come from
// an INPUT that has the kernels, such as a recording. Each source is compiled with a line table, which is used only if
// the compiled code is that of the profile, byte for byte.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/driver/session.h"
#include "lib/profile/kernel_work.h"
#include "lib/profile/profile_file.h"
#include "lib/uop/uop.h"

namespace tgc::profile {

struct Profile;

// How the lanes of a wave access memory: from the index expression of each load and store of a kernel.
struct LaneAccess {
  uint32_t lanes = 0;           // that access memory
  uint32_t bytes = 0;           // of each lane
  uint32_t lines = 0;           // different cache lines that they touch
  uint32_t fewest_lines = 0;    // that hold as many bytes
  int64_t stride = 0;           // bytes from one lane's to the next one's; 0: not the same for all lanes
};
inline constexpr uint32_t kCacheLine = 128;  // bytes, of the L2 cache and of RDNA's L0 and L1

// The sizes of a kernel's work group along x, y and z.
std::array<int64_t, 3> group_sizes(std::span<const UOp> list);

// Returns how the first wave of the first work group accesses memory in the first iteration of all loops. `access` is a
// LOAD or STORE of a linear list. Empty if it is not of global memory, or if its address depends on loaded values.
std::optional<LaneAccess> lane_access(UOp access, uint32_t wave_size, const std::array<int64_t, 3>& sizes);

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
  std::optional<KernelWork> work;      // of a kernel of this name, also if there are no lines
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

// Returns how many bytes later the second iteration of `loop`, a RANGE around `access`, accesses memory than the first
// one. Empty as lane_access().
std::optional<int64_t> loop_stride(UOp access, UOp loop);

// Returns how many bytes behind the begin of its buffer the first iteration of all loops accesses memory. Empty as
// lane_access().
std::optional<int64_t> first_address(UOp access);

}  // namespace tgc::profile
