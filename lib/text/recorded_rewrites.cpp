#include "lib/text/recorded_rewrites.h"

#include <algorithm>
#include <climits>

#include "lib/support/deep_stack.h"
#include "lib/text/graph_json.h"
#include "lib/text/json_scan.h"

namespace tgc {
namespace {

// Repeats recorded rewrites in the order of tinygrad's graph_rewrite.
class Replay {
 public:
  Replay(const std::unordered_map<UOp, UOp>& rewrites, bool bottom_up) : rewrites_(rewrites), bottom_up_(bottom_up) {}

  UOp run(UOp u, int depth = 0) {
    constexpr int kMostDepth = 20000;
    if (depth % kStackCheck == 0 && stack_is_short()) return with_stack([&] { return run(u, depth); });
    if (auto known = results_.find(u); known != results_.end()) return known->second;
    if (depth > kMostDepth) throw Failure("the recorded rewrites nest too deep");
    UOp out = u;
    if (bottom_up_) out = followed(out);
    std::vector<UOp> src;
    for (UOp s : out.src()) src.push_back(run(s, depth + 1));
    if (!std::ranges::equal(src, out.src())) out = out.with_src(src);
    auto next = rewrites_.find(out);
    if (next != rewrites_.end() && !(next->second == u)) out = run(next->second, depth + 1);
    return results_[u] = out;
  }

 private:
  UOp followed(UOp u) const {
    for (size_t steps = 0; steps <= rewrites_.size(); steps++) {
      auto next = rewrites_.find(u);
      if (next == rewrites_.end()) return u;
      u = next->second;
    }
    throw Failure("the recorded rewrites form a cycle");
  }
  const std::unordered_map<UOp, UOp>& rewrites_;
  const bool bottom_up_;
  std::unordered_map<UOp, UOp> results_;
};

}  // namespace

UOp apply_rewrites(UOp root, const std::unordered_map<UOp, UOp>& rewrites, bool bottom_up) {
  auto out = catch_failures([&] { return Replay(rewrites, bottom_up).run(root); });
  return out ? *out : UOp();
}

Result<std::vector<RecordedMatch>> read_rewrites(Graph& graph, std::string_view json, std::string_view producer,
                                                 std::string_view file) {
  return catch_failures([&] {
    std::vector<RecordedMatch> out;
    std::string_view nodes;
    std::vector<int64_t> wanted;  // two indices into the nodes per match, in order: `before` and `after`
    JsonScanner in(json, file, 1);
    in.object([&](std::string_view key) {
      if (key == "nodes") nodes = in.skip();
      else if (key != "list") in.skip();
      else
        in.array([&] {
          RecordedMatch match;
          size_t at = in.position(), item = 0;
          in.array([&] {
            if (item == 0) match.stage = size_t(in.int64());
            else if (item == 1) match.place = in.string();
            else if (item == 4) match.depth = int(std::clamp<int64_t>(in.int64(), 0, INT_MAX));
            else if (item > 4) in.skip();
            else wanted.push_back(in.int64());
            item++;
          });
          if (item < 4 || item > 5 || match.place.empty())
            in.fail(at, "a match of " + std::to_string(item) + " items", "[stage, place, before, after, depth]");
          out.push_back(std::move(match));
        });
    });
    if (out.empty()) return out;
    std::string text = "{\"format\":\"tgc-graph\",\"version\":1,\"producer\":";
    append_json_string(text, producer);
    text.append(",\"nodes\":").append(nodes).append(",\"list\":[");
    for (size_t i = 0; i < wanted.size(); i++) text += (i ? "," : "") + std::to_string(wanted[i]);
    GraphFile read = graph_from_json(graph, text + "]}", file).value_or_throw();
    for (size_t i = 0; i < out.size(); i++) out[i].before = read.list[2 * i], out[i].after = read.list[2 * i + 1];
    return out;
  });
}

}  // namespace tgc
