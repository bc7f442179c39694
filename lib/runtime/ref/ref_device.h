// REF as a Device: kernels are translated from UOps (ref.h) instead of loaded from code.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lib/runtime/device.h"
#include "lib/runtime/ref/ref.h"

namespace tgc {

std::unique_ptr<Device> make_ref_device();

// `program` as a kernel of `device`, which make_ref_device gave. Its buffers are those of `buffer_numbers`, in that
// order, its variables those of `variables`. 
class RefKernel : public Kernel {
 public:
  RefKernel(Device& device, std::shared_ptr<const RefProgram> program, std::vector<int64_t> buffer_numbers,
            std::vector<std::string> variables);
  Status launch(const LaunchArguments& arguments) override;
  void take_at_most(double seconds) { seconds_ = seconds; }  // as RefProgram::run takes it
  const RefResult& result() const { return result_; }  // of the last run

 private:
  std::shared_ptr<const RefProgram> program_;
  std::vector<int64_t> numbers_;
  std::vector<std::string> variables_;
  double seconds_ = 0;
  RefResult result_;
};

}  // namespace tgc
