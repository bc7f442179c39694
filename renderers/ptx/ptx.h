// The renderer of PTX, NVIDIA's assembly language (tinygrad renderer/ptx.py). The printed text has the words VERSION
// and TARGET in place of PTX's version and target; lib/compile/cuda.cpp replaces these words.
#pragma once
#include "renderers/text_renderer.h"
#include "renderers/text_table.h"

namespace tgc {

// Returns the PTX of a kernel. Throws Failure for a node that PTX cannot express. Stores in `added`, unless null, the
// text that each node of `list` adds to the body.
std::string render_ptx(const Target& target, std::span<const UOp> list, std::vector<std::string>* added = nullptr);

class PtxRenderer;
using PtxTextRow = NodeTextRow<PtxRenderer>;

class PtxRenderer : public TextRenderer {
 public:
  using RegisterNames = std::vector<std::string_view>;

  PtxRenderer(const Target& target, std::span<const UOp> list, std::vector<std::string>* added);
  std::string render();

  void print_placeholder(char letter, int number, UOp u);
  // register_type_name() returns the register type ("f32") of a scalar `d`, memory_type_name() the memory type ("b16").
  // Both throw a Failure that names the node `u` if `d` has no such type.
  std::string_view register_type_name(UOp u, DType d) const;
  std::string_view memory_type_name(UOp u, DType d) const;
  std::string immediate_text(UOp u, Const v, DType d) const;  // immediate operand; throws Failure on float32 overflow
  size_t position_of(UOp u) { return *node_positions_.find(u); }

  // Returns the registers of the elements of `u`, a vector or a buffer in registers. Throws Failure for any other node.
  std::span<const std::string_view> vector_registers(UOp u);
  void set_vector_registers(UOp u, RegisterNames names) { node_registers_[u] = std::move(names); }
  RegisterNames make_registers(size_t count, std::string_view prefix, std::string_view type);
  static std::string join_names(std::span<const std::string_view> names);

 private:
  void print_node(UOp u);
  void add_lines(std::string_view text);
  std::string function_head(std::string_view function_name);

  // Handles NOOP, GROUP and INDEX, nodes whose value is in existing registers, and buffers in registers. Prints
  // code only for a STORE to such a buffer. Returns false for any other node.
  bool handle_register_node(UOp u);
  void name_node(UOp u);
  void share_registers(UOp u, UOp from);
  void share_element(UOp u, const Int& i);  // assigns element `i` of source 0 of `u` to `u`
  void share_accessed_buffer(UOp u);

  // Counts the registers with one prefix and type; the count is the number in the next register's name.
  struct RegisterCounter {
    std::string_view prefix, type;
    std::string name_start;         // a register's name without its number: "%val_f32_"
    uint32_t count;
  };
  RegisterCounter& counter_of(std::string_view prefix, std::string_view type);

  std::vector<RegisterCounter> counters_;
  std::vector<std::string> parameters_, special_lines_;
  std::string body_text_;
  ListMap<RegisterNames> node_registers_;
  ListMap<size_t> node_positions_;
  Arena name_arena_;
};

std::span<const PtxTextRow> ptx_memory_rows();
std::span<const PtxTextRow> ptx_wmma_rows();

}  // namespace tgc
