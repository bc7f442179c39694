// Which targets of two recordings mean the same. A release may say more of a device than another: the OpenCL extensions
// behind CL:CL, the features of a CPU. So the device and the renderer tell, unless a side has several of these.
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tgc {

// "CL:CL" of "CL:CL:cl_khr_fp64"; all of a target that says no more.
inline std::string_view device_and_renderer(std::string_view target) {
  const size_t device = target.find(':'), renderer = device == target.npos ? device : target.find(':', device + 1);
  return target.substr(0, renderer);
}

class CommonTargets {
 public:
  // The targets of either side; an empty one is of a tensor graph.
  CommonTargets(const std::set<std::string>& a, const std::set<std::string>& b) {
    for (const auto* side : {&a, &b}) {
      std::map<std::string_view, size_t> in_side;
      for (const std::string& target : *side) in_side[device_and_renderer(target)]++;
      for (auto& [kind, count] : in_side) most_[std::string(kind)] = std::max(most_[std::string(kind)], count);
    }
  }
  // What a target and those of the other side that mean the same have in common.
  std::string of(const std::string& target) const {
    std::string kind(device_and_renderer(target));
    auto known = most_.find(kind);
    return known != most_.end() && known->second > 1 ? target : kind;
  }

 private:
  std::map<std::string, size_t> most_;  // of a device and renderer, how many targets the side with more of them has
};

}  // namespace tgc
