#pragma once
#include <span>
#include <string>
#include <string_view>

#include "lib/runtime/array.h"

namespace tgc {

// ---- npz: numpy's archive of arrays, a zip file with one npy file per array

// Reads the arrays of an npz file in the order of its directory, or the array of an npy file, named after the file. The
// content determines the format.
Result<Arrays> read_arrays(const std::string& path);

// Writes an npz file completely or not at all (lib/support/write_file.h).
Status write_npz(const std::string& path, const Arrays& arrays);

// ---- npy: numpy's array file format. bfloat16 is written as raw bytes "|V2", fp8 as "|V1"; the reader must know the
// dtype (reinterpret_raw_bits).

// Converts byte order and Fortran order; raw bytes ("|V1", "|V2") become uint8 and uint16. Returns an error for
// unsupported dtypes, such as strings, and malformed files. `name` is used in messages.
Result<Array> read_npy(std::span<const uint8_t> bytes, std::string_view name);

// Returns the header of the npy file of `array`; npy_file_bytes returns the whole file.
std::string npy_header(const Array& array);
std::string npy_file_bytes(const Array& array);

// Returns `array` if it has this dtype. For bfloat16 and fp8, which numpy lacks, accepts unsigned integers of the same
// size as their bits. Otherwise returns an error.
Result<Array> reinterpret_raw_bits(Array array, DType dtype, std::string_view name);

}  // namespace tgc
