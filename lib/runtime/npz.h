// numpy's files: npy, an array, and npz, an archive of arrays.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "lib/runtime/array.h"

namespace tgc {

// ---- npz: numpy's archive of arrays, a zip file with one npy file per array
// Entries may be stored or deflated, with or without zip64; tgc writes stored entries.

// Reads the arrays of an npz file in file order, or the single array of an npy file, named after the file. The content
// determines the format. Errors name the file and, if an entry of an npz is wrong, the entry.
Result<Arrays> read_arrays(const std::string& path);

// Writes an npz file completely or not at all (lib/support/write_file.h).
Status write_npz(const std::string& path, const Arrays& arrays);

// ---- npy: numpy's array file format, versions 1 to 3
// A dtype that numpy lacks is written as raw bytes: bfloat16 as "|V2", fp8 as "|V1". Such a file does not name the
// dtype; the reader must know it (with_dtype_of_bits).

// Reads an npy file. `name` is its name in messages. Converts byte order and Fortran order; raw bytes ("|V1", "|V2")
// become uint8 and uint16. Returns an error for other dtypes, such as strings, and malformed files.
Result<Array> read_npy(std::span<const uint8_t> bytes, std::string_view name);

// npy_header returns the header of the npy file of `array`; write_npy returns the whole file as bytes.
std::string npy_header(const Array& array);
std::string write_npy(const Array& array);

// Reinterprets `array` as `dtype`. Returns the array unchanged if it has that dtype. For bfloat16 and fp8, which numpy
// lacks, an array of unsigned integers of the same size is accepted as their bits. Every other case is an error: values
// are never converted.
Result<Array> with_dtype_of_bits(Array array, DType dtype, std::string_view name);

}  // namespace tgc
