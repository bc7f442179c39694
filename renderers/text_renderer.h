// What every renderer works with: the text of each node of a list, and how it says that it cannot express one.
#pragma once
#include <charconv>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/target/target.h"
#include "renderers/list_map.h"

namespace tgc {

// Texts, one after another, of which the last is being written. They stay where they are until this goes. Behind each kChunk bytes can be read,
// and most pieces are short: a whole chunk is moved then, however few bytes are wanted.
class TextPieces {
 public:
  static constexpr size_t kChunk = 16;

  TextPieces() { grow(0); }

  // The text that is being written; `keep` ends it, `drop` forgets it.
  std::string_view view() const { return {begin_, size()}; }
  size_t size() const { return size_t(at_ - begin_); }
  std::string_view keep() {
    std::string_view text = view();
    begin_ = at_;
    return text;
  }
  void drop(size_t from = 0) { at_ = begin_ + from; }

  TextPieces& operator+=(char c) {
    need(1);
    *at_++ = c;
    return *this;
  }
  TextPieces& operator+=(std::string_view text) { return append(text); }
  TextPieces& append(std::string_view text) {
    need(text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
    return *this;
  }
  TextPieces& append(size_t n, char c) {
    need(n);
    std::memset(at_, c, n);
    at_ += n;
    return *this;
  }
  void append_number(uint32_t n) {
    need(10);
    if (n < 10) *at_++ = char('0' + n);
    else at_ = std::to_chars(at_, at_ + 10, n).ptr;
  }
  // A text kept here, or another one behind which kChunk bytes can be read.
  void append_chunks(std::string_view text) {
    need(text.size());
    std::memcpy(at_, text.data(), kChunk);
    if (text.size() > kChunk) std::memcpy(at_ + kChunk, text.data() + kChunk, text.size() - kChunk);
    at_ += text.size();
  }

 private:
  void need(size_t n) {
    if (size_t(end_ - at_) < n) grow(n);
  }
  void grow(size_t n);

  std::vector<std::unique_ptr<char[]>> rooms_;
  char *begin_ = nullptr, *at_ = nullptr, *end_ = nullptr;  // of the last text, and of the room before its last chunk
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

  TextPieces out;  // its last text is that of the node that is being printed

  // ---- what a text table asks for
  void literal(std::string_view text) { out += text; }
  void chunks(std::string_view text) { out.append_chunks(text); }
  void source(UOp u, int i) { out.append_chunks(text(u, i)); }
  void name(UOp) { out.append_chunks(name_); }

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
  // Returns the text as it is kept.
  std::string_view set_text(UOp u, std::string_view text) {
    out += text;
    return keep_text(u);
  }
  std::string_view keep_text(UOp u) { return entries_[u].text = out.keep(); }  // what was printed
  void share_text(UOp u, UOp other) { entries_[u].text = text(other); }
  uint32_t uses(UOp u) { return entries_[u].uses; }  // by the nodes of the list, each source counted

  // After each node of the list.
  void end_node(const std::string& body) {
    if (!added_) return;
    added_->push_back(body.substr(noted_));
    noted_ = body.size();
  }

  std::string_view name_;  // the text of the node that is being printed

 private:
  struct Entry {
    std::string_view text;
    uint32_t uses = 0;
  };
  [[noreturn]] void not_in_list(UOp u) const;

  const Target& target_;
  std::span<const UOp> list_;
  ListMap<Entry> entries_;
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
