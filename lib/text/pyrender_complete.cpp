// Adds comments to pyrender text. Below a line that would be read as a different node, a comment states the node's
// dtype, or the whole node as UOp(...). To find such lines, the writer reads each line back into the same Graph: a line
// without loss gives the identical node.
#include "lib/text/pyrender.h"
#include "lib/text/pyrender_reader.h"
#include "lib/text/pyrender_writer.h"

namespace tgc {
namespace {

class CompletePyrenderWriter : public PyrenderWriter {
 public:
  explicit CompletePyrenderWriter(UOp root, bool whole_movements = false) : PyrenderWriter(root) {
    should_write_whole_movements_ = whole_movements;
    should_keep_lines_ = true;
  }

  CompleteText write_complete() {
    write_lines();
    CompleteText out{kernels_text_, false};
    PyrenderReader reader(root_node_.graph(), line_text_.view(), {}, nullptr);
    reader.assume_names(ordered_nodes_, kernel_graphs_);
    for (size_t i = 0; i < line_begins_.size(); i++) {
      auto [u, begin] = line_begins_[i];
      size_t end = i + 1 < line_begins_.size() ? line_begins_[i + 1].second : line_text_.size();
      out.text += line_text_.view(begin, end - begin);
      UOp read = read_line_value(reader, begin);
      if (read == u) continue;
      if (out.text.back() != '\n') out.text += '\n';
      out.text += "# " + correction_text(u, read);
      if (i + 1 < line_begins_.size()) out.text += '\n';
      has_comments_ = true;
    }
    out.is_header_needed = has_comments_ || reader.would_infer_facts();
    return out;
  }

 private:
  std::string text_of_kernel(UOp ast) override {
    CompletePyrenderWriter writer(ast, should_write_whole_movements_);
    writer.function_level_ = function_level_ + 1;
    CompleteText kernel = writer.write_complete();
    has_comments_ |= kernel.is_header_needed;
    return kernel.text;
  }

  // Returns the empty UOp if the line cannot be read.
  static UOp read_line_value(PyrenderReader& reader, size_t begin) {
    try {
      return reader.value_of_line(begin);
    } catch (const Failure&) {
      return {};
    }
  }

  // `read` is the node that was read from u's line, or empty. Returns "c12: dtypes.float" or "c12 = UOp(...)".
  std::string correction_text(UOp u, UOp read) {
    std::string name(this->name(u));
    if (read && read.with_dtype(u.dtype()) == u) return name + ": " + complete_repr(u.dtype());
    auto parts = toposort(u, [&](UOp s) { return s == u || !node_texts_[s.id()].has_line; });
    node_texts_[u.id()].is_plain = true;
    for (int round = 0;; round++) {
      if (round == kMaxRounds)  // limits the time: mark all nodes of the expression
        for (UOp part : parts) node_texts_[part.id()].is_plain = true;
      std::string line = name + " = " + expression_of(u);
      PyrenderReader reader(u.graph(), line, {}, nullptr);
      reader.assume_names(ordered_nodes_, kernel_graphs_);
      read = read_line_value(reader, 0);
      if (read == u) return node_texts_[u.id()].is_plain = false, line;
      if (!mark_plain_nodes(u, read))
        throw Failure("Ops." + std::string(name_of(u.op())) + " cannot be written as text");
    }
  }

  // Compares `u` with `read`, the node that was read back from u's expression. Marks the deepest nodes that differ as
  // `is_plain`, to be written as UOp(...); if `read` is empty, marks all nodes. Returns false if none was marked.
  bool mark_plain_nodes(UOp u, UOp read) {
    struct NodePair {
      UOp part, read;
      uint32_t next = 0;
      bool found = false;  // a node below this node was marked
    };
    bool any = false;
    std::vector<NodePair> stack{{u, read}};
    while (!stack.empty()) {
      NodePair& top = stack.back();
      bool alike = top.read && top.part.num_src() == top.read.num_src();
      if (alike && top.next < top.part.num_src()) {
        UOp s = top.part.src(top.next), t = top.read.src(top.next);
        top.next++;
        if (!(s == t) && !node_texts_[s.id()].has_line) stack.push_back({s, t});
        continue;
      }
      bool found = top.found;
      if (NodeText& info = node_texts_[top.part.id()]; !found && !info.is_plain) info.is_plain = found = any = true;
      stack.pop_back();
      if (!stack.empty()) stack.back().found |= found;
    }
    if (any || read) return any;
    for (UOp part : toposort(u, [&](UOp s) { return s == u || !node_texts_[s.id()].has_line; }))
      if (NodeText& info = node_texts_[part.id()]; !info.is_plain) info.is_plain = any = true;
    return any;
  }

  static constexpr int kMaxRounds = 16;
  bool has_comments_ = false;
};

}  // namespace

Result<CompleteText> pyrender_complete(UOp root) {
  if (root.graph().is_foreign()) return catch_failures([&] { return pyrender_open_complete(root); });
  auto text = catch_failures([&] { return CompletePyrenderWriter(root).write_complete(); });
  if (text) return text;
  // if shapes do not fit, the methods for movement ops fail, so write movement ops as UOp(...)
  return catch_failures([&] { return CompletePyrenderWriter(root, true).write_complete(); });
}

}  // namespace tgc
