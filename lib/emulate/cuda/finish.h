// The last steps of a translation: where lanes that part meet again, and places for registers.
#pragma once
#include <cstdint>
#include <vector>

#include "lib/emulate/cuda/code.h"

namespace tgc::ptx {

// What ops_control.cpp runs, known by address.
Run jump_run();
Run table_jump_run();
Run join_run();
Run end_run();

// A kernel's basic blocks.
struct Flow {
  struct Block {
    uint32_t begin, end;  // ops
    std::vector<uint32_t> successors;
    bool ends_here = false;  // lanes may return from it
    uint32_t meet = kNone;  // the immediate post-dominator: the first block that all lanes come to; kNone: none does
  };
  std::vector<Block> blocks;
  std::vector<uint32_t> block_of;  // each op's

  static Flow of(const Code& code);
};

// Puts a join in front of every block where lanes meet, and tells every jump its own.
void add_joins(Code& code, std::vector<uint8_t>& outs);

// Registers that are never needed at the same time share a place: a warp's file stays small enough for the cache.
// `bits` is each register's width; numbers of registers in the code become places. `outs` says of each op how many of
// its further operands are written. Throws Failure when the file would be too large.
void allocate_registers(Code& code, const std::vector<uint8_t>& outs, const std::vector<unsigned>& bits);

inline void finish_code(Code& code, std::vector<uint8_t>& outs, const std::vector<unsigned>& bits) {
  add_joins(code, outs);
  allocate_registers(code, outs, bits);
}

}  // namespace tgc::ptx
