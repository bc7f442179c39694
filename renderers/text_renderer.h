// What every renderer works with: the text of each node of a list, and how it says that it cannot express one.
#pragma once
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/target/target.h"
#include "renderers/list_map.h"

namespace tgc {

// Keeps texts until it goes. Small: a kernel's texts take some kilobytes.
class TextStore {
 public:
  std::string_view copy(std::string_view text) {
    if (text.size() > left_) {
      size_t size = std::max<size_t>(text.size(), kChunk);
      chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
      next_ = chunks_.back().get(), left_ = size;
    }
    char* to = next_;
    std::memcpy(to, text.data(), text.size());
    next_ += text.size(), left_ -= text.size();
    return {to, text.size()};
  }

 private:
  static constexpr size_t kChunk = 8192;
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* next_ = nullptr;
  size_t left_ = 0;
};

class TextRenderer {
 public:
  TextRenderer(const Target& target, std::span<const UOp> list) : target_(target), list_(list), entries_(list.size()) {
    for (UOp u : list) entries_[u];
    for (UOp u : list)
      for (UOp s : u.src())
        if (Entry* e = entries_.find(s)) e->uses++;  // one that is not in the list has no text: see text()
  }

  const Target& target() const { return target_; }
  std::span<const UOp> list() const { return list_; }

  std::string out;  // the text of the node that is being printed

  // ---- what a text table asks for
  void literal(std::string_view text) { out += text; }
  void source(UOp u, int i) { out += text(u, i); }
  void name(UOp) { out += name_; }

  bool has_text(UOp u) {
    Entry* e = entries_.find(u);
    return e && e->text.data();
  }
  // The text by which the users of a node call it; throws Failure when the node does not stand before them.
  std::string_view text(UOp u) {
    Entry* e = entries_.find(u);
    if (!e || !e->text.data()) not_in_list(u);
    return e->text;
  }
  std::string_view text(UOp u, int i) {
    if (size_t(i) >= u.num_src()) cannot(u, "it has too few sources");
    return text(u.src(size_t(i)));
  }

  // While rendering, `added`, if any, receives for each node of the list what it adds to the kernel's body.
  void note_added(std::vector<std::string>* added) { added_ = added; }

  // "the CUDA renderer cannot express Ops.POW of dtypes.float: WHY", with the node.
  [[noreturn]] void cannot(UOp u, std::string_view why = {}) const;

 protected:
  void set_text(UOp u, std::string_view text) { entries_[u].text = text.empty() ? std::string_view("", 0) : texts_.copy(text); }
  uint32_t uses(UOp u) { return entries_[u].uses; }  // by the nodes of the list, each source counted

  // After each node of the list.
  void end_node(const std::string& body) {
    if (!added_) return;
    added_->push_back(body.substr(noted_));
    noted_ = body.size();
  }

  std::string name_;  // of the node that is being printed

 private:
  struct Entry {
    std::string_view text;
    uint32_t uses = 0;
  };
  [[noreturn]] void not_in_list(UOp u) const;

  const Target& target_;
  std::span<const UOp> list_;
  ListMap<Entry> entries_;
  TextStore texts_;
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
