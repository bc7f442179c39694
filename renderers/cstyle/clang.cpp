// C for the CPU, as clang compiles it (tinygrad renderer/cstyle.py, ClangRenderer).
#include <bit>

#include "renderers/cstyle/cstyle.h"

namespace tgc {
namespace {

constexpr ScalarTypeName kTypes[] = {{Scalar::Bool, "_Bool"}, {Scalar::Float16, "__fp16"}};

bool is_double(UOp u) { return u.dtype() == dtypes::float64; }

// Throws Failure for ops that ClangRenderer removes from C's table.
bool throw_unsupported_op(CStyleRenderer& c, UOp u) { c.throw_cannot_render(u); }

std::span<const CTextRow> clang_rows() {
  static const CTextRow rows[] = {
      {{Op::EXP2, Op::LOG2, Op::SIN, Op::RECIPROCAL}, throw_unsupported_op},
      {Op::SQRT, is_double, "__builtin_sqrt($0)"},
      {Op::SQRT, "__builtin_sqrtf($0)"},
      {Op::TRUNC, is_double, "__builtin_trunc($0)"},
      {Op::TRUNC, "__builtin_truncf($0)"},
      {Op::FDIV, "($0/$1)"},
  };
  return rows;
}

// Returns "typedef float float4 __attribute__(...);". The alignment is the size, rounded down to a power of two; 1 for
// bools.
std::string vector_typedef(CStyleRenderer& c, DType d) {
  uint32_t alignment = dtypes::is_bool(d) ? 1 : std::bit_floor(uint32_t(d.itemsize()));
  return "typedef " + c.type_name(d.scalar()) + " " + c.type_name(d) + " __attribute__((aligned(" +
         std::to_string(alignment) + "),ext_vector_type(" + std::to_string(d.count()) + ")));";
}

// Returns a function that adds the outer product of two vectors to a matrix on Apple's AMX. AMX reads its operands from
// memory and writes its result to memory (https://github.com/corsix/amx).
std::string amx_function(CStyleRenderer& c, const WmmaUse& use) {
  std::string out = c.type_name(use.input_dtype.vec(use.n * use.n)), a = c.type_name(use.input_dtype.vec(use.n)),
              b = c.type_name(use.input_dtype.vec(use.m));
  return "static " + out + " __" + std::string(use.name) + "(" + a + " data1, " + b + " data2, " + out + R"( data0){
  AMX_SET(0);
  for(int ridx0 = 0; ridx0 < 16; ridx0++){ AMX(4, (int *)(&data0), 0ull<<62 | (ridx0*4ull)<<56 | ridx0*64ull); }
  AMX(0, (int *)(&data2), 0ull<<62); AMX(1, (int *)(&data1), 0ull<<62); AMX(12, 0, 0ull);
  for(int ridx0 = 0; ridx0 < 16; ridx0++){ AMX(5, (int *)(&data0), 0ull<<62 | (ridx0*4ull)<<56 | ridx0*64ull); }
  AMX_SET(1);
  return data0;
})";
}

constexpr std::string_view kAmxMacros =
    R"c(#define AMX_SET(imm5) __asm("nop\nnop\nnop\n.word (0x201000+(%0<<5)+%1)" : : "i"(17), "i"(imm5) : "memory")
#define AMX(op, gpr, btf) __asm(".word (0x201000+(%0 << 5)+0%1-((0%1>>4)*6))" : : "i"(op), "r"((unsigned long long)(gpr)+(btf)) : "memory")
)c";

void clang_prologue(CStyleRenderer& c, std::string& out) {
  for (DType d : value_dtypes_of(c.list()))
    if (d.count() > 1) out += vector_typedef(c, d) + "\n";
  for (const WmmaUse& use : find_wmma_uses(c.list())) out.append(kAmxMacros) += amx_function(c, use) + "\n";
  if (out.empty()) out += '\n';  // tinygrad also prints one empty line if there is nothing to print above the kernel
}

}  // namespace

std::string render_clang(const Target& target, std::span<const UOp> list, std::vector<std::string>* added) {
  static const NodeTextTable<CStyleRenderer> table{clang_rows(), c_rows()};
  static const CDialect dialect{
      .buffer_suffix = " restrict",
      .extra_parameters = "int core_id",
      .function_suffix = "\n",
      .global_id = "core_id",
      .vector_constructor = "(float4)",
      .vector_open = "{",
      .vector_close = "}",
      .largest_named_vector = 0,
      .infinity = "__builtin_inff()",
      .nan = "__builtin_nanf(\"\")",
      .type_names = kTypes,
      .text_table = &table,
      .print_prologue = clang_prologue,
  };
  return render_c(target, dialect, list, added);
}

}  // namespace tgc
