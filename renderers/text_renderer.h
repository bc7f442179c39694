// What every renderer works with: the text of each node of a list, and how it says that it cannot express one.
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
        if (Entry* e = *next++ = entries_.find(s)) e->uses++;  // one that is not in the list has no text: see text()
    next_sources_ = sources_.get();
  }

  const Target& target() const { return target_; }
  std::span<const UOp> list() const { return list_; }

  TextPieces out;  // its last text is that of the node that is being printed

  // ---- what a text table asks for
  void chunks(std::string_view text) { out.append_chunks(text); }
  void source(UOp u, int i) { out.append_chunks(text(u, i)); }
  void name(UOp) { out.append_chunks(name_); }

  bool has_text(UOp u) {
    Entry* e = entries_.find(u);
    return e && e->begin;
  }
  // What `print` adds to `out`, as a text of its own.
  template <class Print>
  std::string apart(Print&& print) {
    size_t begin = out.size();
    print();
    std::string text(out.view().substr(begin));
    out.drop(begin);
    return text;
  }

  // The text by which the users of a node call it; throws Failure when the node does not stand before them.
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

  // While rendering, `added`, if any, receives for each node of the list what it adds to the kernel's body.
  void note_added(std::vector<std::string>* added) { added_ = added; }

  // "the CUDA renderer cannot express Ops.POW of dtypes.float: WHY", with the node.
  [[noreturn]] void cannot(UOp u, std::string_view why = {}) const;

 protected:
  // Returns the text as it is kept.
  std::string_view set_text(UOp u, std::string_view text) {
    out += text;
    return keep_text(u);
  }
  std::string_view keep_text(UOp u) { return put_text(u, out.keep()); }  // what was printed
  void share_text(UOp u, UOp other) { put_text(u, text(other)); }
  uint32_t uses(UOp u) { return entry(u).uses; }  // by the nodes of the list, each source counted

  // Whether a node has no text of its own in any language of expressions: NOOP and GROUP are nothing, an AFTER is
  // called as its first source is, and a SINK names the function.
  bool is_left_out(UOp u, std::string& function_name);

  // Before and after each node of the list, in order.
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

  std::string_view name_;  // the text of the node that is being printed

 private:
  struct Entry {
    const char* begin = nullptr;  // of the text; null: none yet
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
  std::unique_ptr<Entry*[]> sources_;  // of the nodes of the list, one after another; null for one that is not in it
  UOp node_;                           // that is being printed
  Entry* node_entry_ = nullptr;
  Entry *const *node_sources_ = nullptr, *const *next_sources_ = nullptr;
  std::vector<std::string>* added_ = nullptr;
  size_t noted_ = 0;  // of the body
};

// ---- facts of a list that several renderers print

// The function's name, that of the SINK's KernelInfo; "test" when it has none.
std::string function_name_of(UOp sink);
// The product of the greatest sizes of the local SPECIALs: how many threads a group may have.
Int launch_bounds_of(std::span<const UOp> list);
// The dtypes of the nodes, each once, in order; no pointers, no images.
std::vector<DType> value_dtypes_of(std::span<const UOp> list);
bool uses_dtype(std::span<const UOp> list, DType base);  // whether a node is of that dtype or points to it

// What tensor cores a list uses, each once, in order: the arg of a WMMA and its result's element.
struct WmmaUse {
  std::string_view name;
  int64_t n, m, k;
  DType in, out;
  Arg device, threads, upcast_axes, reduce_axes;
  friend bool operator==(const WmmaUse&, const WmmaUse&) = default;

  // Elements of operand `i` (A, B, C) that one thread holds.
  int64_t elements(size_t i) const;
};
std::vector<WmmaUse> wmma_uses(std::span<const UOp> list);

// Python's text.format(*args) for fields "{}", "{0}" and doubled braces; throws Failure for anything else.
std::string python_format(std::string_view text, std::span<const std::string_view> args);

}  // namespace tgc
