#include "lib/driver/recorded_device.h"

#include "lib/uop/facts.h"

namespace tgc {

std::string recorded_device(const InputGraph& in) {
  if (!in.is_tensor_graph) return "";
  const bool is_sink = in.root.is(Op::SINK) && in.root.num_src() > 0;
  Arg device = device_of(is_sink ? in.root.src(0) : in.root);
  if (device.is_tuple() && !device.items().empty()) device = device.items()[0];  // several devices: take the first one
  if (!device.is_str()) return "";
  std::string name = target_of_device(device.text(), in.graph->settings());
  return name == "CPU" ? "" : name;
}

}  // namespace tgc
