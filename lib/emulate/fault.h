// What a launch ends with when it goes wrong, in the codes that CUDA's and HIP's drivers share.
#pragma once
#include <string>

namespace tgc::emulate {

// CUresult and hipError_t: HIP numbers its errors as CUDA does.
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

// What a running kernel did that it may not: thrown where it happens, told as the driver's error.
struct Fault {
  int code;
  std::string text;
};

}  // namespace tgc::emulate
