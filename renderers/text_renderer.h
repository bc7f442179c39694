// TextRenderer, the base class of all renderers, and functions that collect facts of a list.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/deadline.h"
#include "lib/target/target.h"
#include "renderers/list_map.h"
#include "renderers/text_pieces.h"

namespace tgc {

class TextRenderer {
 public:
  // Stores in `added`, unless null, the text that each node of the list adds to the kernel's body.
  TextRenderer(const Target& target, std::span<const UOp> list, std::vector<std::string>* added)
      : target_(target), linear_list_(list), node_entries_(list.size()), added_lines_(added) {
    size_t sources = 0;
    for (UOp u : list) node_entries_[u], sources += u.num_src();
    source_entries_ = std::make_unique_for_overwrite<NodeEntry*[]>(sources);
    NodeEntry** next = source_entries_.get();
    for (UOp u : list)
      for (UOp s : u.src())
        // if the source is not in the list, text() throws
        if (NodeEntry* e = *next++ = node_entries_.find(s)) e->num_uses++;
    next_sources_ = source_entries_.get();
  }

  const Target& target() const { return target_; }
  std::span<const UOp> list() const { return linear_list_; }

  TextPieceBuffer output;  // the unfinished text is that of the node being printed

  void append_text(std::string_view text) { output.append_chunks(text); }
  void append_source(UOp u, int i) { output.append_chunks(text(u, i)); }
  void append_name(UOp) { output.append_chunks(node_text_); }

  bool has_text(UOp u) {
    NodeEntry* e = node_entries_.find(u);
    return e && e->begin;
  }
  // Returns the text that print() appends to `output`, and removes this text from `output`.
  template <class Print>
  std::string print_to_string(Print&& print) {
    size_t begin = output.size();
    print();
    std::string text(output.view().substr(begin));
    output.drop_text(begin);
    return text;
  }

  // Returns the text that users of `u` print in place of `u`: a name or an expression. Throws Failure if `u` is not
  // in the list or has not been printed yet.
  std::string_view text(UOp u) {
    NodeEntry* e = node_entries_.find(u);
    if (!e || !e->begin) throw_not_in_list(u);
    return e->text();
  }
  std::string_view text(UOp u, int i) {
    if (size_t(i) >= u.num_src()) throw_cannot_render(u, "it has too few sources");
    if (u != current_node_) return text(u.src(size_t(i)));
    const NodeEntry* e = node_sources_[i];
    if (!e || !e->begin) throw_not_in_list(u.src(size_t(i)));
    return e->text();
  }

  // Throws Failure "the CUDA:CUDA:sm_80 renderer cannot express Ops.POW of dtypes.float: WHY", whose context shows the
  // node.
  [[noreturn]] void throw_cannot_render(UOp u, std::string_view why = {}) const;

 protected:
  std::string_view set_text(UOp u, std::string_view text) {
    output += text;
    return finish_text(u);
  }
  // Sets the text of `u` to the unfinished text of `output`, and finishes that text.
  std::string_view finish_text(UOp u) { return store_text(u, output.finish_text()); }
  void share_text(UOp u, UOp other) { store_text(u, text(other)); }
  // Returns how many sources of nodes of the list are `u`; x + x counts x twice.
  uint32_t num_uses(UOp u) { return entry_of(u).num_uses; }

  // Handles nodes that print nothing: NOOP; GROUP; AFTER, whose text is that of its first source; SINK, whose function
  // name, if its arg has one, is stored in `function_name`. Returns false for all other nodes.
  bool accept_unprinted_node(UOp u, std::string& function_name);

  // Call begin_node() before and end_node() after printing each node of the list, in order. `body` is the kernel's body
  // so far.
  void begin_node(UOp u) {
    if (++num_begun_nodes_ % 4096 == 0) throw_if_late();
    current_node_ = u, node_entry_ = node_entries_.find(u);
    node_sources_ = next_sources_;
    next_sources_ += u.num_src();
  }
  void end_node(const std::string& body) {
    if (!added_lines_) return;
    added_lines_->push_back(body.substr(copied_length_));
    copied_length_ = body.size();
  }

  std::string_view node_text_;

 private:
  struct NodeEntry {
    const char* begin = nullptr;  // start of the text; null until the node is printed
    uint32_t size = 0, num_uses = 0;

    std::string_view text() const { return {begin, size}; }
  };
  [[noreturn]] void throw_not_in_list(UOp u) const;
  std::string_view store_text(UOp u, std::string_view text) {
    NodeEntry& e = entry_of(u);
    e.begin = text.data(), e.size = uint32_t(text.size());
    return text;
  }
  NodeEntry& entry_of(UOp u) { return u == current_node_ ? *node_entry_ : node_entries_[u]; }

  const Target& target_;
  std::span<const UOp> linear_list_;
  ListMap<NodeEntry> node_entries_;
  // the sources of all nodes, in list order; sources outside the list are null
  std::unique_ptr<NodeEntry*[]> source_entries_;
  UOp current_node_;
  NodeEntry* node_entry_ = nullptr;
  uint32_t num_begun_nodes_ = 0;
  NodeEntry *const *node_sources_ = nullptr, *const *next_sources_ = nullptr;
  std::vector<std::string>* added_lines_;
  size_t copied_length_ = 0;
};

inline UOp index_of_load(UOp load) { return load.src(0).is(Op::CAST) ? load.src(0).src(0) : load.src(0); }
// Returns true for a load with a gate (condition) and an alternative value.
bool is_gated_load(UOp u);

// Returns the name of the kernel's function from the KernelInfo of `sink`; "test" without one. Throws Failure if the
// name is not an identifier.
std::string function_name_of(UOp sink);
// Returns the largest number of threads in a work group: the product of the maximum sizes of the local SPECIALs.
Int launch_bounds_of(std::span<const UOp> list);
// Returns the dtypes of the nodes except pointers and images, each once, in order of first use.
std::vector<DType> value_dtypes_of(std::span<const UOp> list);
// Returns true if a node has the dtype `base`, or a pointer to `base`.
bool is_dtype_used(std::span<const UOp> list, DType base);

// A tensor core that a list uses: the arg of a WMMA, and the element dtype of its result.
struct WmmaUse {
  std::string_view name;
  int64_t n, m, k;                  // A is an m x k matrix, B is k x n
  DType input_dtype, output_dtype;  // dtype of the elements of A and B, and of the result
  Arg device, threads, upcast_axes, reduce_axes;
  friend bool operator==(const WmmaUse&, const WmmaUse&) = default;

  // Returns how many elements of operand `i` (0: A, 1: B, 2: C) are in the registers of one thread.
  int64_t num_elements(size_t i) const;
};
// Returns the tensor cores that the list uses, each once, in order of first use.
std::vector<WmmaUse> find_wmma_uses(std::span<const UOp> list);

// Returns Python's text.format(*args); supports "{}" or "{0}", and doubled braces. Throws Failure for any other use of
// braces, and if `args` has no value for a field.
std::string format_like_python(std::string_view text, std::span<const std::string_view> args);

}  // namespace tgc
