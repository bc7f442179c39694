// npy: numpy's array file format (versions 1 to 3), as bytes. A dtype that numpy lacks is written as raw bytes,
// as ml_dtypes writes it:
// bfloat16 as "|V2", fp8 as "|V1"; which one it is, the reader of the file knows (see `adopt_dtype`).
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "lib/runtime/array.h"

namespace tgc {

// The array in `bytes`. `name` is what messages call it. Either byte order and Fortran order are converted; raw bytes
// ("|V1", "|V2") come back as uint8 and uint16. Objects, strings and structures are errors,
// and so is anything that does not add up.
Result<Array> read_npy(std::span<const uint8_t> bytes, std::string_view name);

// The file's bytes up to the data, and the whole of it.
std::string npy_header(const Array& array);
std::string write_npy(const Array& array);

// `array` taken as `dtype`: itself when that is its dtype, its bits when `dtype` is bfloat16 or an fp8 (numpy has none)
// and the array holds unsigned integers of that size. Otherwise an error: values are never converted.
Result<Array> adopt_dtype(Array array, DType dtype, std::string_view name);

}  // namespace tgc
