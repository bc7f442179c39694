// Decides which targets of two recordings are the same. One release may record more about a device than another, such
// as the OpenCL extensions in CL:CL:cl_khr_fp64 or the features of a CPU. So targets are compared by device and
// renderer only, unless one of the recordings has several targets with the same device and renderer.
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tgc {

// Returns "CL:CL" for "CL:CL:cl_khr_fp64", and the whole target if it has no third part.
inline std::string_view device_and_renderer(std::string_view target) {
  const size_t device = target.find(':'), renderer = device == target.npos ? device : target.find(':', device + 1);
  return target.substr(0, renderer);
}

class CommonTargets {
 public:
  // `a` and `b` are the sets of targets in the two recordings. The target of a tensor graph is empty.
  CommonTargets(const std::set<std::string>& a, const std::set<std::string>& b) {
    for (const auto* side : {&a, &b}) {
      std::map<std::string_view, size_t> in_side;
      for (const std::string& target : *side) in_side[device_and_renderer(target)]++;
      for (auto& [kind, count] : in_side) most_[std::string(kind)] = std::max(most_[std::string(kind)], count);
    }
  }
  // Returns a key for `target`. Two targets are treated as the same if their keys are equal.
  std::string of(const std::string& target) const {
    std::string kind(device_and_renderer(target));
    auto known = most_.find(kind);
    return known != most_.end() && known->second > 1 ? target : kind;
  }

 private:
  std::map<std::string, size_t> most_;  // by device and renderer: the larger of the two recordings' numbers of targets
};

}  // namespace tgc
