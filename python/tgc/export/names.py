"""Names of tinygrad's parts that differ between releases. To teach the exporter a release, add its names here. Modules
that watch one mechanism (boundaries, origins, jit_plan, ...) name its parts themselves."""
from __future__ import annotations

import platform

# The first digits of the SHA-256 of a release's ops: a checkout with these ops is that release, or a changed copy.
OPS = {"0.11.0": "475a2d31", "0.12.0": "6dc44a40", "0.13.0": "704a3921", "0.14.0": "ae8a1b69"}

# Functions that begin a kernel or a schedule: (module, function).
KERNELS = [("tinygrad.codegen", "do_to_program"), ("tinygrad.codegen", "get_program"),
           ("tinygrad.engine.realize", "get_program")]
SCHEDULES = [("tinygrad.callify", "transform_to_call"), ("tinygrad.tensor", "transform_to_call"),
             ("tinygrad.schedule", "create_linear_with_vars"),
             ("tinygrad.engine.schedule", "complete_create_schedule_with_vars"),
             ("tinygrad.schedule.kernelize", "get_kernelize_map"), ("tinygrad.schedule.rangeify", "get_rangeify_map")]
# Functions that a rule of a schedule calls, whose own rewrites are stages too.
INNER = [("tinygrad.schedule.rangeify", "get_kernel_graph")]
# Functions that are stages without being rewrites: (module, function), name of the stage.
STAGES = {("tinygrad.codegen", "apply_opts"): "apply opts"}
# Rewrites that are not stages, such as those that compute a property of a graph or compile patterns.
QUERIES = {"simplify", "reshape", "pad", "shrink", "minimum_valid", "valid", "process UPat", "compile UPat", "contiguous_view_offset", "swap remove tags"}
# Ops whose result begins in memory where their first source begins.
KEEP_OFFSET = {"RESHAPE", "BITCAST", "AFTER", "CONTIGUOUS", "NOOP", "MSELECT", "MULTI", "UNSHARD"}
# Settings that records do not list: those that change no stage of a kernel, and those whose effects are in the records.
NEUTRAL_SETTINGS = {"DEBUG", "VIZ", "PROFILE", "PROFILE_VALUE", "TRACEMETA", "SPEC", "CHECK_OOB", "IGNORE_OOB", "CAPTURING", "TRACK_MATCH_STATS",
                    "REWRITE_STACK_LIMIT", "PROCESS_REPLAY", "CAPTURE_PROCESS_REPLAY", "CACHELEVEL", "CCACHE", "DEV", "BEAM", "JIT",
                    "JITBEAM", "PARALLEL", "SCACHE", "ALLOW_DEVICE_USAGE", "PICKLE_BUFFERS", "LOG", "NO_COLOR"}

# Name of a renderer class in a target, DEVICE:RENDERER[:ARCH]. A class without a row has its own name: NullRenderer is
# NULL.
RENDERER_NAMES = {"ClangRenderer": "CLANG", "ClangJITRenderer": "CLANG", "LLVMRenderer": "LLVM", "CUDARenderer": "CUDA",
           "NVRenderer": "CUDA", "PTXRenderer": "PTX", "MetalRenderer": "METAL", "OpenCLRenderer": "CL",
           "QCOMRenderer": "CL", "IntelRenderer": "INTEL", "AMDHIPRenderer": "HIP", "AMDHIPCCRenderer": "HIP",
           "HIPRenderer": "HIP",
           "AMDLLVMRenderer": "LLVM", "WGSLRenderer": "WGSL"}
# The renderer of a device in a target that names none; for a device without a row, the device's name.
DEFAULTS = {"CPU": "CLANG", "AMD": "HIP", "NV": "CUDA", "QCOM": "CL", "WEBGPU": "WGSL"}
# Renderer classes of targets; the first one that the installed tinygrad has is used.
CLASSES = {
    "CPU:CLANG": "ClangRenderer", "CPU:LLVM": "CPULLVMRenderer LLVMRenderer", "CPU:X86": "X86Renderer",
    "CUDA:CUDA": "CUDARenderer", "CUDA:PTX": "PTXRenderer", "NV:CUDA": "NVRenderer CUDARenderer", "NV:PTX": "PTXRenderer",
    "METAL:METAL": "MetalRenderer", "CL:CL": "OpenCLRenderer", "CL:INTEL": "IntelRenderer",
    "QCOM:CL": "QCOMCLRenderer QCOMRenderer", "AMD:HIP": "AMDHIPRenderer HIPRenderer", "AMD:LLVM": "AMDLLVMRenderer",
    "HIP:HIP": "HIPRenderer", "WEBGPU:WGSL": "WGSLRenderer", "NULL:NULL": "NullRenderer", "PYTHON:PYTHON": "PythonRenderer"}
# Since 0.13, dtypes and tensor cores depend on architectures that earlier releases do not name.
ARCHITECTURES = {"CPU": platform.machine() + ",native", "METAL": "Apple9", "CL": "cl_khr_fp16,cl_khr_fp64", "QCOM": "a630"}
# Modules whose compilers load a library when they are made.
COMPILERS = [f"tinygrad.runtime.support.compiler_{name}" for name in ("amd", "cpu", "cuda", "llvm", "qcom")] + ["tinygrad.runtime.ops_metal"]

