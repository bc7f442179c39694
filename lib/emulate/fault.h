// Error codes of the emulated CUDA and HIP drivers, and the exception that ends a failing launch.
#pragma once
#include <string>

namespace tgc::emulate {

// Error codes, with their values in CUDA's CUresult; HIP's hipError_t has most of them, with the same values.
enum Error : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kInvalidPtx = 218,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kLaunchFailed = 719,
  kNotSupported = 801,
};

// An error that ends a launch.
struct KernelFault {
  int code;
  std::string text;
};

}  // namespace tgc::emulate
