// PTX, NVIDIA's assembly language, without its version and target,
// which the compiler fills in (tinygrad renderer/ptx.py).
#pragma once
#include "renderers/text_renderer.h"
#include "renderers/text_table.h"

namespace tgc {

// see note_added
std::string render_ptx(const Target& target, std::span<const UOp> list, std::vector<std::string>* added = nullptr);

class Ptx;
using PtxRow = TextRow<Ptx>;

class Ptx : public TextRenderer {
 public:
  using Registers = std::vector<std::string_view>;  // by their names

  Ptx(const Target& target, std::span<const UOp> list);
  std::string render();

  // ---- for rows
  void hole(char letter, int number, UOp u);
  // of the registers for such values; throws for vectors: they have several
  std::string_view type(UOp u, DType d) const;
  std::string_view memory(UOp u, DType d) const;
  std::string value(UOp u, Const v, DType d) const;  // a number as an immediate operand
  size_t position(UOp u) { return *position_.find(u); }

  // The registers of a vector's elements; of a buffer that lies in registers.
  std::span<const std::string_view> vector(UOp u);
  void set_vector(UOp u, Registers names) { registers_[u] = std::move(names); }
  Registers new_registers(size_t count, std::string_view prefix, std::string_view type);
  static std::string joined(std::span<const std::string_view> names);

 private:
  void print(UOp u);
  void add_lines(std::string_view text);
  std::string head(std::string_view function_name);

  // ---- registers.cpp
  // Whether the node's registers are there already: it needs no code, or none but that of a store to registers.
  bool stands_for_registers(UOp u);
  void name_node(UOp u);
  void share(UOp u, UOp from);
  void share_element(UOp u, const Int& i);
  void share_accessed(UOp u);

  struct Counter {
    std::string_view prefix, type;  // "val", "f32"
    std::string name;               // "%val_f32_"
    uint32_t count;
  };
  Counter& counter(std::string_view prefix, std::string_view type);

  std::vector<Counter> counters_;  // of registers, in the order of first use
  std::vector<std::string> parameters_, special_lines_;
  std::string body_;
  ListMap<Registers> registers_;
  ListMap<size_t> position_;
  Arena names_;  // of the registers of vectors and buffers
};

std::span<const PtxRow> ptx_memory_rows();
std::span<const PtxRow> ptx_wmma_rows();

}  // namespace tgc
