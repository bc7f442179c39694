#include "lib/view/recorded_schedule.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "lib/compilation/fusion.h"
#include "lib/dtype/dtype.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

int64_t buffer_bytes(const GoldenBuffer& b) {
  const std::string_view prefix = "dtypes.";
  auto dtype = dtypes::parse(std::string_view(b.dtype).substr(b.dtype.starts_with(prefix) ? prefix.size() : 0));
  return b.size * (dtype ? dtype->itemsize() : 1);
}

bool is_copy(const GoldenKernel& k) { return k.stored_value && k.stored_value->node_text.starts_with("Ops.COPY "); }

// The distinct buffers of the kernels, and the memory (bases) that contains them.
class RecordedBuffers {
 public:
  explicit RecordedBuffers(const GoldenRecord& record) {
    for (const GoldenKernel& k : record.kernels)
      for (const GoldenBuffer& b : k.buffer_args) add_buffer(b);
  }
  size_t number_of_buffer(const GoldenBuffer& b) const { return buffer_numbers_.at(buffer_key(b)); }
  std::vector<size_t> numbers_of_buffers(std::span<const GoldenBuffer> bufs) const {
    std::vector<size_t> out;
    for (const GoldenBuffer& b : bufs) out.push_back(number_of_buffer(b));
    return out;
  }
  void write_json(JsonWriter& json, const std::string& device) const {
    int64_t total = 0;
    json.key("buffers").array([&] {
      for (const GoldenBuffer& b : buffers_)
        json.object([&] {
          json.member("device", device)
              .member("dtype", b.dtype)
              .member("size", b.size)
              .member("bytes", buffer_bytes(b));
          json.key("place").object([&] { json.member("shared", base_indices_.at(b.base)).member("offset", b.offset); });
        });
    });
    json.key("shared").array([&] {
      for (int64_t bytes : base_bytes_) {
        json.object([&] { json.member("device", device).member("bytes", bytes); });
        total += bytes;
      }
    });
    json.key("bytes").object([&] { json.member("before", total).member("after", total); });
  }

 private:
  using BufferKey = std::tuple<int64_t, int64_t, int64_t, std::string>;
  static BufferKey buffer_key(const GoldenBuffer& b) { return {b.base, b.offset, b.size, b.dtype}; }
  void add_buffer(const GoldenBuffer& b) {
    if (!buffer_numbers_.try_emplace(buffer_key(b), buffers_.size()).second) return;
    buffers_.push_back(b);
    const size_t base = base_indices_.try_emplace(b.base, base_bytes_.size()).first->second;
    if (base == base_bytes_.size()) base_bytes_.push_back(0);
    base_bytes_[base] = std::max(base_bytes_[base], b.offset + buffer_bytes(b));
  }

  std::vector<GoldenBuffer> buffers_;
  std::map<BufferKey, size_t> buffer_numbers_;
  std::map<int64_t, size_t> base_indices_;
  std::vector<int64_t> base_bytes_;
};

}  // namespace

std::string recorded_schedule_json(const GoldenRecord& record) {
  if (std::ranges::none_of(record.kernels, [](auto& k) { return !k.buffer_args.empty(); })) return {};
  const RecordedBuffers buffers(record);
  return json_object([&](JsonWriter& json) {
    json.key("kernels").array([&] {
      for (const GoldenKernel& k : record.kernels) {
        const std::span<const GoldenBuffer> all = k.buffer_args, stored = all.first(std::min<size_t>(1, all.size()));
        json.object([&] {
          json.member("op", is_copy(k) ? "COPY" : "SINK").member("ast_nodes", 0);
          json.member("buffers", buffers.numbers_of_buffers(all)).member("writes", buffers.numbers_of_buffers(stored));
          json.member("reads", buffers.numbers_of_buffers(all.subspan(stored.size())));
          json.member("made_for", methods_text(k.metadata));
        });
      }
    });
    buffers.write_json(json, record.device);
    json.member("why", recorded_fusion_text(record));
  });
}

}  // namespace tgc
