// C-style languages: one renderer, and a Dialect for each language that holds only what differs (tinygrad
// renderer/cstyle.py, CStyleLanguage). A new dialect is one file: a Dialect, the rows that differ,
// and what stands above the kernel.
#pragma once
#include "lib/uop/render.h"
#include "renderers/text_renderer.h"
#include "renderers/text_table.h"

namespace tgc {

class CStyle;
using CRow = TextRow<CStyle>;

struct Parameter {
  UOp node;
  std::string_view name;
  DType dtype;
  bool written;  // it is stored to
};

struct TypeName {
  Scalar scalar;
  std::string_view name;
};

struct Dialect {
  std::string_view kernel = "void";         // before the function's name; {} stands for the launch bounds
  std::string_view buffer_prefix = "", buffer_suffix = "";
  std::string_view local_align = "";        // before a buffer in local memory
  std::string_view local_prefix = "";       // its address space
  bool local_prefix_in_casts = true;
  std::string_view int_parameter = "const int";
  std::string_view extra_parameters = "";
  std::string_view after = "";              // the function
  std::string_view barrier = "";
  // templates: $d the dimension as a digit, $l as a letter
  std::string_view global_id = "", local_id = "", global_thread_id = "";
  // of a vector from its elements; "float4" stands for its type
  std::string_view vector = "", vector_open = "(", vector_close = ")";
  int largest_named_vector = 4;             // elements of larger ones are [i], of others .x, .y, ...
  std::string_view infinity = "INFINITY", nan = "NAN";
  std::span<const TypeName> types = {};     // those whose name is not tinygrad's own
  const TextTable<CStyle>* table = nullptr;  // what a node looks like: the dialect's rows, then the base's

  void (*prologue)(CStyle&, std::string& out) = nullptr;                       // lines above the kernel, each ended
  // appends a type to `out`, when not as C has it
  void (*type)(CStyle&, DType) = nullptr;
  // appends a cast to `out`, when not as C has it
  void (*cast)(CStyle&, DType, std::string_view value) = nullptr;
  std::string (*assemble)(CStyle&, std::string_view function_name) = nullptr;  // the whole text, when not as C has it
};

// The rows that all dialects share.
std::span<const CRow> c_rows();

class CStyle : public TextRenderer {
 public:
  CStyle(const Target& target, const Dialect& dialect, std::span<const UOp> list, bool expand_ssa);

  std::string render();

  // ---- for rows and dialects
  const Dialect& dialect() const { return dialect_; }
  void hole(char letter, int number, UOp u) {
    if (letter == 's') stripped_source(u, number);
    else rare_hole(letter, number, u);
  }
  void append_type(DType d, bool written = true);
  void append_cast(DType d, std::string_view value);  // "(float)(VALUE)"
  std::string type(DType d) {
    return apart([&] { append_type(d); });
  }
  // a name or a format that the kernel gives
  void note_own_text(std::string_view text) { own_parens_ |= text.find_first_of("()") != text.npos; }
  // as the dialect's own types name it; throws Failure when they do not
  std::string_view own_type(DType d);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::string body;  // the lines of the function, without the last newline

 private:
  void stripped_source(UOp u, int i) {
    std::string_view source = text(u, i);
    if (u.src(size_t(i)).op() == u.op() && source.starts_with('('))
      source = own_parens_ ? strip_parens(source) : source.substr(1, source.size() - 2);
    out.append_chunks(source);
  }
  void rare_hole(char letter, int number, UOp u);
  void print(UOp u);
  void add_parameter(UOp u);
  void mark_written(UOp store);
  bool stays_inline(UOp u);
  void set_name(UOp u);
  std::string assemble_c(std::string_view function_name);

  const Dialect& dialect_;
  bool expand_ssa_;
  std::array<std::string_view, kNumScalars> scalar_names_;
  std::vector<Parameter> parameters_;
  std::array<uint32_t, 16> counters_{};  // of names, by their prefix
  std::string_view prefix_;              // of the name that is being used
  size_t prefix_index_ = 0;
  int depth_ = 1;
  bool own_parens_ = false;              // a text of the kernel's own has parentheses, maybe not in pairs
};

// ---- conditions that rows use

// The letters by which CUDA and HIP call the elements of a vector: x, y, z, w, a, ..., l, v16, ..., v31.
std::string element_name(int i);
// "x, y, z, w", each after `before`.
std::string element_names(int count, std::string_view before = {});

// ---- the dialects
const Dialect& clang_dialect();
const Dialect& opencl_dialect();
const Dialect& intel_dialect();
const Dialect& metal_dialect();
const Dialect& cuda_dialect();
const Dialect& hip_dialect(std::string_view arch);

}  // namespace tgc
