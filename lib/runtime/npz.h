// npz: numpy's archive of arrays, a zip file with one npy file per array. Reading takes stored and deflated entries,
// with or without zip64; writing makes stored entries, which numpy.load reads.
#pragma once
#include <string>

#include "lib/runtime/array.h"

namespace tgc {

// The arrays of an npz file in its order, or the one array of an npy file, named after the file. The kind is found from
// the content. An error names the file, and the entry where there is one: unreadable, truncated, a wrong checksum,
// encrypted, twice the same name, ...
Result<Arrays> read_arrays(const std::string& path);

// Writes an npz file as write_file.h has it: whole, or not at all.
Status write_npz(const std::string& path, const Arrays& arrays);

}  // namespace tgc
