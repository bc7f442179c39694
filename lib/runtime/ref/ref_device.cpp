#include "lib/runtime/ref/ref_device.h"

#include "lib/runtime/host_device.h"

namespace tgc {
namespace {

class RefDevice : public HostDevice {
 public:
  Status open() override { return Unit{}; }
  std::string target() const override { return "REF"; }
  std::string description() const override {
    return "interpreter of UOps, exact dtype semantics, every access checked";
  }
  Result<std::unique_ptr<Kernel>> load(const KernelSource&, const std::string&) override {
    return Diag{"REF runs UOps, not source texts"};
  }
};

}  // namespace

std::unique_ptr<Device> make_ref_device() { return std::make_unique<RefDevice>(); }

RefKernel::RefKernel(Device& device, std::shared_ptr<const RefProgram> program, std::vector<int64_t> buffer_numbers,
                     std::vector<std::string> variables)
    : Kernel(device),
      program_(std::move(program)),
      numbers_(std::move(buffer_numbers)),
      variables_(std::move(variables)) {}

Status RefKernel::launch(const LaunchArguments& a) {
  std::vector<RefBuffer> buffers;
  for (size_t i = 0; i < numbers_.size(); i++)
    buffers.push_back({numbers_[i], HostDevice::address(a.buffers[i]), a.buffers[i].bytes});
  std::map<std::string, int64_t> values;
  for (size_t i = 0; i < variables_.size(); i++) values[variables_[i]] = a.variables[i];
  auto result = program_->run(buffers, values, seconds_);
  if (!result) return result.diag();
  result_ = *result;
  return Unit{};
}

}  // namespace tgc
