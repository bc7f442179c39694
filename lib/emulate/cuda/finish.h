// The last steps of a translation: reconvergence points of diverged lanes, and register allocation.
#pragma once
#include <cstdint>
#include <vector>

#include "lib/emulate/cuda/code.h"

namespace tgc::ptx {

// Each returns the value of Op::run of a control operation (ops_control.cpp), so that flow analysis can recognize it.
Run jump_run();
Run table_jump_run();
Run join_run();
Run end_run();

// The control flow graph of a kernel.
struct Flow {
  struct Block {
    uint32_t begin, end;  // index of the block's first op; index of the op after its last op
    std::vector<uint32_t> successors;
    bool ends_here = false;  // true if lanes may return at the block's end
    uint32_t meet = kNone;  // the immediate post-dominator, where diverged lanes reconverge; kNone: the kernel's end
  };
  std::vector<Block> blocks;
  std::vector<uint32_t> block_of;  // for each op, the index of its block in `blocks`

  static Flow of(const Code& code);
};

// Inserts a join op before every block where diverged lanes reconverge, and sets Op::join of every jump.
void add_joins(Code& code, std::vector<uint8_t>& outs);

// Replaces register numbers by byte offsets in the warp's register file. Registers that are never live at the same time
// share a slot, which keeps the file small enough for the cache. `bits[r]` is the width of register r, `outs[i]` is how
// many of op i's operands in Op::more it writes. Throws Failure if the file would exceed 64 MiB.
void allocate_registers(Code& code, const std::vector<uint8_t>& outs, const std::vector<unsigned>& bits);

inline void finish_code(Code& code, std::vector<uint8_t>& outs, const std::vector<unsigned>& bits) {
  add_joins(code, outs);
  allocate_registers(code, outs, bits);
}

}  // namespace tgc::ptx
