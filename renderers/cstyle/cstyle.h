// The renderer of C-style languages (tinygrad renderer/cstyle.py, CStyleLanguage). Each language has a CDialect with
// only the differences (../README.md, "How to add a renderer").
#pragma once
#include "lib/uop/render.h"
#include "renderers/text_renderer.h"
#include "renderers/text_table.h"

namespace tgc {

class CStyleRenderer;
using CTextRow = NodeTextRow<CStyleRenderer>;

struct KernelParameter {
  UOp node;
  std::string_view name;
  DType dtype;
  bool is_written;  // true for a buffer on which a store's address depends; always false in a kernel without images
};

struct ScalarTypeName {
  Scalar scalar;
  std::string_view name;
};

// The differences of a language from standard C. Texts are printed unchanged, except for placeholders.
struct CDialect {
  // printed before the function's name; {} is replaced by the launch bounds
  std::string_view function_prefix = "void";
  // printed before and after the type of a pointer to global memory; the suffix only in parameter lists
  std::string_view buffer_prefix = "", buffer_suffix = "";
  std::string_view local_align = "";  // printed before the declaration of a buffer in local memory, to align the buffer
  std::string_view local_prefix = "";       // the address space of local memory, printed before the type
  bool has_local_prefix_in_casts = true;    // if true, local_prefix is also printed in pointer types
  std::string_view int_parameter_type = "const int";  // type of a parameter that is an int variable
  std::string_view extra_parameters = "";
  std::string_view function_suffix = "";
  std::string_view barrier = "";
  // expressions that print the SPECIALs gidx, lidx and idx; $d is the number of the dimension, $l its letter x, y or z
  std::string_view global_id = "", local_id = "", global_thread_id = "";
  // a vector is printed as vector_constructor, in which its type replaces "float4", vector_open, the elements and
  // vector_close
  std::string_view vector_constructor = "", vector_open = "(", vector_close = ")";
  int largest_named_vector = 4;  // in vectors up to this size, elements are named .x, .y, ...; in larger vectors, [i]
  std::string_view infinity = "INFINITY", nan = "NAN";
  std::span<const ScalarTypeName> type_names = {};  // names of scalar types; the other types have tinygrad's names
  const NodeTextTable<CStyleRenderer>* text_table = nullptr;  // the rows of the dialect, followed by c_rows()

  // appends the lines above the kernel; each line ends with a newline
  void (*print_prologue)(CStyleRenderer&, std::string& out) = nullptr;
  // Each of the following functions replaces what standard C prints; if it is null, standard C is printed.
  // appends a type to the renderer's output
  void (*print_type)(CStyleRenderer&, DType) = nullptr;
  // appends a cast of `value` to the renderer's output
  void (*print_cast)(CStyleRenderer&, DType, std::string_view value) = nullptr;
  // returns the whole source
  std::string (*assemble_source)(CStyleRenderer&, std::string_view function_name) = nullptr;
};

std::span<const CTextRow> c_rows();

class CStyleRenderer : public TextRenderer {
 public:
  CStyleRenderer(const Target& target, const CDialect& c_dialect, std::span<const UOp> list, bool expand_ssa,
                 std::vector<std::string>* added);

  std::string render();

  const CDialect& c_dialect() const { return c_dialect_; }
  void print_placeholder(char letter, int number, UOp u) {
    if (letter == 's') append_stripped_source(u, number);
    else print_rare_placeholder(letter, number, u);
  }
  // Appends the name of the dtype `d` in the language. `written` is used only for images: true if the kernel stores to
  // the image. Throws Failure for dtypes.index, unless the dialect has its own `print_type` function.
  void append_type(DType d, bool written = true);
  void append_cast(DType d, std::string_view value);  // appends "(float)(VALUE)", or the dialect's form
  std::string type_name(DType d) {
    return print_to_string([&] { append_type(d); });
  }
  // Must be called for each name and format string from the input. Sets has_own_parens_ if the text has parentheses.
  void note_input_text(std::string_view text) { has_own_parens_ |= text.find_first_of("()") != text.npos; }
  // Returns the name of the scalar `d` in `CDialect::type_names`; throws Failure if the dialect has no name for it.
  std::string_view dialect_type_name(DType d);

  const std::vector<KernelParameter>& kernel_parameters() const { return kernel_parameters_; }
  std::string body_text;  // lines of the function body, without the last newline

 private:
  // Appends source `i` of `u`, without its outer parentheses if the source has the same op as `u`: (a+b)+c becomes
  // a+b+c.
  void append_stripped_source(UOp u, int i) {
    std::string_view source = text(u, i);
    if (u.src(size_t(i)).op() == u.op() && source.starts_with('('))
      source = has_own_parens_ ? strip_parens(source) : source.substr(1, source.size() - 2);
    output.append_chunks(source);
  }
  void print_rare_placeholder(char letter, int number, UOp u);
  void print_node(UOp u);
  void add_parameter(UOp u);
  void mark_written_buffers(UOp store);
  bool is_printed_inline(UOp u);
  void set_node_name(UOp u);
  std::string assemble_c(std::string_view function_name);

  const CDialect& c_dialect_;
  bool should_expand_ssa_;
  std::array<std::string_view, kNumScalars> scalar_names_;
  std::vector<KernelParameter> kernel_parameters_;
  bool has_images_ = false;
  std::array<uint32_t, 16> name_counters_{};  // the number of the next name for each prefix, indexed by prefix_index_
  std::string_view name_prefix_;  // prefix of the current node's name; empty if `name_counters_` does not number it
  size_t prefix_index_ = 0;
  int indent_depth_ = 1;         // 1 plus the number of open loops and ifs, for the indentation
  bool has_own_parens_ = false;
};

// Returns the name of element `i` of a vector in CUDA and HIP: x, y, z, w, a, ..., l, v16, ..., v31.
std::string element_name(int i);
// Returns the names of `count` elements (at most 32), each preceded by `before`: "float x, float y".
std::string element_names_text(int count, std::string_view before = {});

// Returns the source of a kernel in a dialect. Throws Failure for a node that the dialect cannot express. `added`: see
// TextRenderer.
std::string render_c(const Target& target, const CDialect& c_dialect, std::span<const UOp> list,
                     std::vector<std::string>* added);

}  // namespace tgc
