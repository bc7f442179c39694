#include "lib/profile/memory_use.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "lib/support/pytext.h"

namespace tgc::profile {
namespace {

constexpr double kMaxBufferElements = 1e12;  // larger sizes are those of disks; tinygrad has the same limit

template <class F>
void for_each_buffer(const PointEvent& exec, F f) {
  auto buffers = exec.arg.find("bufs");
  for (size_t n = 0; buffers && n < buffers->size(); n++)
    if (auto key = (*buffers)[n].int_value()) f(n, *key);
}

std::set<int64_t> integers_of_list(const PickleValue& arg, std::string_view list) {
  std::set<int64_t> out;
  auto numbers = arg.find(list);
  for (size_t n = 0; numbers && n < numbers->size(); n++)
    if (auto number = (*numbers)[n].int_value()) out.insert(*number);
  return out;
}

std::string exec_name(const PointEvent& exec) {
  auto name = exec.arg.find("name");
  return name ? ansistrip(std::string(name->text())) : "";
}

}  // namespace

MemoryUse memory_use(const ProfileTrace& trace) {
  MemoryUse out;
  std::map<int64_t, size_t> open;
  std::map<std::string_view, std::pair<double, size_t>> devices;
  std::vector<const PointEvent*> points;
  for (const PointEvent& e : trace.point_events) points.push_back(&e);
  std::ranges::stable_sort(points, {}, &PointEvent::time_us);
  auto change = [&](std::string_view device, double bytes, double time) {
    auto [it, is_new] = devices.try_emplace(device, 0.0, out.devices.size());
    if (is_new) out.devices.push_back({.device = device});
    DeviceMemory& memory = out.devices[it->second.second];
    memory.bytes_at_end = it->second.first += bytes;
    if (memory.bytes_at_end > memory.peak_bytes) memory.peak_bytes = memory.bytes_at_end, memory.peak_time_us = time;
  };
  for (const PointEvent* e : points) {
    auto key = e->key.int_value();
    if (e->name == "alloc" && key) {
      BufferLifetime b{.device = e->device, .buffer_key = *key, .allocation_time_us = e->time_us};
      auto size = e->arg.find("sz"), dtype = e->arg.find("dtype");
      if (!size || !size->float_value()) continue;
      double item = 1;  // a DType's second field is its size in bits, the third its name
      if (dtype && dtype->size() >= 3) item = std::floor((double((*dtype)[1].int_value().value_or(8)) + 7) / 8);
      if (dtype && dtype->size() >= 3) b.dtype = (*dtype)[2].text();
      b.num_bytes = std::min(*size->float_value(), kMaxBufferElements) * item;
      open[*key] = out.buffers.size();
      change(e->device, b.num_bytes, e->time_us);
      out.buffers.push_back(std::move(b));
    } else if (e->name == "free" && key) {
      auto found = open.find(*key);
      if (found == open.end()) continue;
      BufferLifetime& b = out.buffers[found->second];
      b.free_time_us = e->time_us;
      change(b.device, -b.num_bytes, e->time_us);
      open.erase(found);
    } else if (e->name == "exec") {
      const std::string name = exec_name(*e);
      const std::set<int64_t> inputs = integers_of_list(e->arg, "inputs"),
                              outputs = integers_of_list(e->arg, "outputs");
      for_each_buffer(*e, [&](size_t n, int64_t buffer) {
        if (auto found = open.find(buffer); found != open.end())
          out.buffers[found->second].uses.push_back(
              {name, n, inputs.contains(int64_t(n)), outputs.contains(int64_t(n))});
      });
    }
  }
  return out;
}

std::map<KernelOfDevice, std::vector<double>> buffer_bytes(const ProfileTrace& trace, const MemoryUse& memory) {
  std::map<int64_t, double> sizes;
  for (const BufferLifetime& b : memory.buffers) sizes[b.buffer_key] = b.num_bytes;
  std::map<KernelOfDevice, std::vector<double>> out;
  for (const PointEvent& e : trace.point_events) {
    if (e.name != "exec") continue;
    std::set<int64_t> seen;
    double bytes = 0;
    for_each_buffer(e, [&](size_t, int64_t key) {
      if (auto size = sizes.find(key); size != sizes.end() && seen.insert(key).second) bytes += size->second;
    });
    out[{std::string(e.device), exec_name(e)}].push_back(bytes);
  }
  return out;
}

}  // namespace tgc::profile
