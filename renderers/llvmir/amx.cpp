// Apple's AMX in LLVM IR for the CPU. Instructions are encoded as words of inline assembly; operands are passed through
// memory (tinygrad renderer/llvmir.py, render_wmma_amx; https://github.com/corsix/amx).
#include "renderers/llvmir/llvmir.h"

namespace tgc {
namespace {

// Returns a call of the AMX instruction with the number `op`. `operand` is a memory address for ldx and ldy, an address
// with the number of an accumulator row in its upper bits for ldz and stz, and 0 for fma32.
std::string amx_instruction(int op, const std::string& operand, std::string_view name) {
  return "call void asm sideeffect \".word (0x201000+($0<<5)+0$1-((0$1>>4)*6))\", \"i,r,~{memory}\"(i32 " +
         std::to_string(op) + ", i64 " + operand + ") #0; AMX " + std::string(name);
}

std::string amx_switch_instruction(int off, std::string_view name) {
  return "  call void asm sideeffect \"nop\\0Anop\\0Anop\\0A.word (" + std::to_string(0x201000 + (17 << 5) + off) +
         ")\", \"~{memory}\"() #0; AMX " + std::string(name) + "\n";
}

std::string amx_row_instructions(const std::string& n, std::string_view suffix, int op, std::string_view name) {
  std::string out;
  for (int64_t i = 0; i < 16; i++) {
    std::string row = n + std::string(suffix) + std::to_string(i);
    out += "  " + row + " = add i64 " + n + "_ptr_amx2, " + std::to_string((i * 4) << 56 | i * 64) + "\n  " +
           amx_instruction(op, row, name) + "\n";
  }
  return out;
}

bool print_amx(LlvmIrRenderer& r, UOp u) {
  std::string n(r.name_of_node());
  for (size_t i = 0; i < u.num_src(); i++) {
    DType d = u.src(i).dtype();
    std::string t = r.type_name(d);
    r.output.append("  store ").append(t).append(" ").append(r.text(u, int(i))).append(", ").append(t).append("* ")
        .append(n).append("_amx").append(std::to_string(i));
    r.output.append(", align ").append(std::to_string(d.itemsize())) += '\n';
  }
  r.output += amx_switch_instruction(0, "set") + amx_row_instructions(n, "_ld", 4, "ldz");
  r.output += "  " + amx_instruction(0, n + "_ptr_amx1", "ldx") + "\n  " + amx_instruction(1, n + "_ptr_amx0", "ldy") +
              "\n  " + amx_instruction(12, "0", "fma32") + "\n";
  r.output += amx_row_instructions(n, "_st", 5, "stz") + amx_switch_instruction(1, "clr");
  r.output.append("  ").append(n).append(" = load ").append(r.type_name(u.dtype())).append(", ptr ").append(n)
      .append("_amx2, align ").append(std::to_string(u.dtype().itemsize()));
  return true;
}

}  // namespace

std::span<const LlvmTextRow> llvm_amx_rows() {
  static const LlvmTextRow rows[] = {{Op::WMMA, print_amx}};
  return rows;
}

}  // namespace tgc
