// TextRenderer: the base class of all renderers. Stores the text of each node of a linear list, and reports nodes that
// a renderer cannot express. Also functions that collect facts of a list which several renderers print.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/target/target.h"
#include "renderers/list_map.h"
#include "renderers/text_pieces.h"

namespace tgc {

class TextRenderer {
 public:
  TextRenderer(const Target& target, std::span<const UOp> list) : target_(target), list_(list), entries_(list.size()) {
    size_t sources = 0;
    for (UOp u : list) entries_[u], sources += u.num_src();
    sources_ = std::make_unique_for_overwrite<Entry*[]>(sources);
    Entry** next = sources_.get();
    for (UOp u : list)
      for (UOp s : u.src())
        if (Entry* e = *next++ = entries_.find(s)) e->uses++;  // text() reports sources that are not in the list
    next_sources_ = sources_.get();
  }

  const Target& target() const { return target_; }
  std::span<const UOp> list() const { return list_; }

  TextPieces out;  // its last text belongs to the node being printed

  // ---- called by TextTable
  void chunks(std::string_view text) { out.append_chunks(text); }
  void source(UOp u, int i) { out.append_chunks(text(u, i)); }
  void name(UOp) { out.append_chunks(name_); }

  bool has_text(UOp u) {
    Entry* e = entries_.find(u);
    return e && e->begin;
  }
  // Returns what `print` appends to `out`, and removes it from `out`.
  template <class Print>
  std::string apart(Print&& print) {
    size_t begin = out.size();
    print();
    std::string text(out.view().substr(begin));
    out.drop(begin);
    return text;
  }

  // Returns the text that the users of a node print for it: its name or its expression. Throws Failure if the node has
  // not been printed yet.
  std::string_view text(UOp u) {
    Entry* e = entries_.find(u);
    if (!e || !e->begin) not_in_list(u);
    return e->text();
  }
  std::string_view text(UOp u, int i) {
    if (size_t(i) >= u.num_src()) cannot(u, "it has too few sources");
    if (u != node_) return text(u.src(size_t(i)));
    const Entry* e = node_sources_[i];
    if (!e || !e->begin) not_in_list(u.src(size_t(i)));
    return e->text();
  }

  // While rendering, appends to `added` (may be null) the text that each node of the list adds to the kernel's body.
  void note_added(std::vector<std::string>* added) { added_ = added; }

  // Throws "the CUDA renderer cannot express Ops.POW of dtypes.float: WHY", with the node as context.
  [[noreturn]] void cannot(UOp u, std::string_view why = {}) const;

 protected:
  // Sets the text of `u`; returns the stored copy.
  std::string_view set_text(UOp u, std::string_view text) {
    out += text;
    return keep_text(u);
  }
  // Sets the text of `u` to what was appended to `out` since the last text was kept or dropped.
  std::string_view keep_text(UOp u) { return put_text(u, out.keep()); }
  void share_text(UOp u, UOp other) { put_text(u, text(other)); }
  // Returns how often `u` is a source of nodes of the list; x + x uses x twice.
  uint32_t uses(UOp u) { return entry(u).uses; }

  // Handles nodes that print nothing: NOOP; GROUP; AFTER, which gets the text of its first source; SINK, whose name is
  // stored in `function_name`. Returns false for any other node.
  bool is_left_out(UOp u, std::string& function_name);

  // Call these before and after each node of the list, in order. `body`: the kernel's body so far.
  void begin_node(UOp u) {
    node_ = u, node_entry_ = entries_.find(u);
    node_sources_ = next_sources_;
    next_sources_ += u.num_src();
  }
  void end_node(const std::string& body) {
    if (!added_) return;
    added_->push_back(body.substr(noted_));
    noted_ = body.size();
  }

  std::string_view name_;  // the text of the node being printed

 private:
  struct Entry {
    const char* begin = nullptr;  // start of the text; null: none yet
    uint32_t size = 0, uses = 0;

    std::string_view text() const { return {begin, size}; }
  };
  [[noreturn]] void not_in_list(UOp u) const;
  std::string_view put_text(UOp u, std::string_view text) {
    Entry& e = entry(u);
    e.begin = text.data(), e.size = uint32_t(text.size());
    return text;
  }
  Entry& entry(UOp u) { return u == node_ ? *node_entry_ : entries_[u]; }

  const Target& target_;
  std::span<const UOp> list_;
  ListMap<Entry> entries_;
  std::unique_ptr<Entry*[]> sources_;  // the sources of all nodes, in list order; null for a source outside the list
  UOp node_;                           // the node being printed
  Entry* node_entry_ = nullptr;
  Entry *const *node_sources_ = nullptr, *const *next_sources_ = nullptr;
  std::vector<std::string>* added_ = nullptr;
  size_t noted_ = 0;  // length of the body that `added_` contains already
};

// ---- facts of a list that several renderers print

// Returns the function's name, from the SINK's KernelInfo; "test" if the SINK has none.
std::string function_name_of(UOp sink);
// Returns the largest number of threads in a work group: the product of the maximum sizes of the local SPECIALs.
Int launch_bounds_of(std::span<const UOp> list);
// Returns the dtypes of the nodes, without pointers and images, each once, in order of first use.
std::vector<DType> value_dtypes_of(std::span<const UOp> list);
// Returns true if a node has the dtype `base` or points to it.
bool uses_dtype(std::span<const UOp> list, DType base);

// A tensor core that a list uses: the arg of a WMMA, and the element dtype of its result.
struct WmmaUse {
  std::string_view name;
  int64_t n, m, k;  // multiplies an m x k by a k x n matrix
  DType in, out;    // elements of A and B, and of the result
  Arg device, threads, upcast_axes, reduce_axes;
  friend bool operator==(const WmmaUse&, const WmmaUse&) = default;

  // Returns the number of elements of operand `i` (0: A, 1: B, 2: C) that one thread holds.
  int64_t elements(size_t i) const;
};
// Returns the tensor cores that the list uses, each once, in order of first use.
std::vector<WmmaUse> wmma_uses(std::span<const UOp> list);

// Python's text.format(*args). Supports the fields "{}" and "{0}" and doubled braces; throws Failure for others.
std::string python_format(std::string_view text, std::span<const std::string_view> args);

}  // namespace tgc
