#include "lib/view/recorded_schedule.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "lib/compilation/fusion.h"
#include "lib/dtype/dtype.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

int64_t bytes_of(const GoldenBuffer& b) {
  const std::string_view prefix = "dtypes.";
  auto dtype = dtypes::parse(std::string_view(b.dtype).substr(b.dtype.starts_with(prefix) ? prefix.size() : 0));
  return b.size * (dtype ? dtype->itemsize() : 1);
}

bool is_copy(const GoldenKernel& k) { return k.stored_reasons && k.stored_reasons->node.starts_with("Ops.COPY "); }

// The distinct buffers of the kernels, and the memory (bases) that contains them.
class Buffers {
 public:
  explicit Buffers(const GoldenRecord& record) {
    for (const GoldenKernel& k : record.kernels)
      for (const GoldenBuffer& b : k.buffer_args) add(b);
  }
  size_t number(const GoldenBuffer& b) const { return numbers_.at(key(b)); }
  std::vector<size_t> numbers(std::span<const GoldenBuffer> bufs) const {
    std::vector<size_t> out;
    for (const GoldenBuffer& b : bufs) out.push_back(number(b));
    return out;
  }
  void write(JsonWriter& json, const std::string& device) const {
    int64_t total = 0;
    json.key("buffers").array([&] {
      for (const GoldenBuffer& b : list_)
        json.object([&] {
          json.member("device", device).member("dtype", b.dtype).member("size", b.size).member("bytes", bytes_of(b));
          json.key("place").object([&] { json.member("shared", bases_.at(b.base)).member("offset", b.offset); });
        });
    });
    json.key("shared").array([&] {
      for (int64_t bytes : extents_) {
        json.object([&] { json.member("device", device).member("bytes", bytes); });
        total += bytes;
      }
    });
    json.key("bytes").object([&] { json.member("before", total).member("after", total); });
  }

 private:
  using Key = std::tuple<int64_t, int64_t, int64_t, std::string>;
  static Key key(const GoldenBuffer& b) { return {b.base, b.offset, b.size, b.dtype}; }
  void add(const GoldenBuffer& b) {
    if (!numbers_.try_emplace(key(b), list_.size()).second) return;
    list_.push_back(b);
    const size_t base = bases_.try_emplace(b.base, extents_.size()).first->second;
    if (base == extents_.size()) extents_.push_back(0);
    extents_[base] = std::max(extents_[base], b.offset + bytes_of(b));
  }

  std::vector<GoldenBuffer> list_;
  std::map<Key, size_t> numbers_;
  std::map<int64_t, size_t> bases_;
  std::vector<int64_t> extents_;
};

}  // namespace

std::string recorded_schedule_json(const GoldenRecord& record) {
  if (std::ranges::none_of(record.kernels, [](auto& k) { return !k.buffer_args.empty(); })) return {};
  const Buffers buffers(record);
  return json_object([&](JsonWriter& json) {
    json.key("kernels").array([&] {
      for (const GoldenKernel& k : record.kernels) {
        const std::span<const GoldenBuffer> all = k.buffer_args, stored = all.first(std::min<size_t>(1, all.size()));
        json.object([&] {
          json.member("op", is_copy(k) ? "COPY" : "SINK").member("ast_nodes", 0);
          json.member("buffers", buffers.numbers(all)).member("writes", buffers.numbers(stored));
          json.member("reads", buffers.numbers(all.subspan(stored.size())));
          json.member("made_for", methods_text(k.metadata));
        });
      }
    });
    buffers.write(json, record.device);
    json.member("why", recorded_fusion_text(record));
  });
}

}  // namespace tgc
