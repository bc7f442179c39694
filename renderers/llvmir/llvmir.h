// LLVM IR for the CPU and for AMD GPUs (tinygrad renderer/llvmir.py: LLVMRenderer, AMDLLVMRenderer).
#pragma once
#include "renderers/text_renderer.h"
#include "renderers/text_table.h"

namespace tgc {

// Returns the LLVM IR of a kernel. Throws Failure for a node that LLVM IR cannot express. `added`: see TextRenderer.
std::string render_llvm_ir(const Target& target, std::span<const UOp> list, std::vector<std::string>* added = nullptr);

class LlvmIrRenderer;
using LlvmTextRow = NodeTextRow<LlvmIrRenderer>;

class LlvmIrRenderer : public TextRenderer {
 public:
  LlvmIrRenderer(const Target& target, std::span<const UOp> list, const NodeTextTable<LlvmIrRenderer>& table,
                 std::vector<std::string>* added)
      : TextRenderer(target, list, added), text_table_(table) {}
  std::string render();

  void print_placeholder(char letter, int number, UOp u);
  void append_type(DType d);
  std::string type_name(DType d) {
    return print_to_string([&] { append_type(d); });
  }
  std::string_view name_of_node() const { return node_text_; }

 private:
  void print_node(UOp u);
  void add_parameter(UOp u);
  void add_local_buffer(UOp u);
  void add_amx_operands(UOp wmma);
  std::string constant_text(UOp u);
  std::string attributes_text();
  void append_line(std::string_view text) { body_text_.append(text) += '\n'; }

  const NodeTextTable<LlvmIrRenderer>& text_table_;
  std::string body_text_, parameters_text_, globals_text_;
  int num_named_values_ = 0;
};

// Returns true if both dtypes have the same LLVM type, as int32 and uint32 do.
bool is_same_llvm_type(DType a, DType b);

std::span<const LlvmTextRow> llvm_rows();                // rows that CPU and AMD share
std::span<const LlvmTextRow> llvm_amx_rows();            // rows for Apple's AMX
const NodeTextTable<LlvmIrRenderer>& amd_llvm_table(bool cdna);  // all rows for AMD GPUs
std::string_view amd_float_to_fp8_definition();                 // the LLVM IR of a function that kernels with fp8 call

}  // namespace tgc
