// REF as a Device. Its kernels are translated from UOps (ref.h), not loaded from code.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lib/runtime/device.h"
#include "lib/runtime/ref/ref.h"

namespace tgc {

std::unique_ptr<Device> make_ref_device();

// A program as a kernel of a device from make_ref_device(). Launch buffers correspond to `buffer_numbers`, in order,
// and launch variables to `variables`.
class RefKernel : public Kernel {
 public:
  RefKernel(Device& device, std::shared_ptr<const RefProgram> program, std::vector<int64_t> buffer_numbers,
            std::vector<std::string> variables);
  Status launch(const LaunchArguments& arguments) override;
  void take_at_most(double seconds) { seconds_ = seconds; }  // sets the time limit in seconds
  const RefResult& result() const { return result_; }  // returns the result of the last launch

 private:
  std::shared_ptr<const RefProgram> program_;
  std::vector<int64_t> numbers_;
  std::vector<std::string> variables_;
  double seconds_ = 0;
  RefResult result_;
};

}  // namespace tgc
