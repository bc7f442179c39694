// npz: numpy's archive of arrays, a zip file with one npy file per array. Reads stored and deflated entries, with or
// without zip64; writes stored entries.
#pragma once
#include <string>

#include "lib/runtime/array.h"

namespace tgc {

// Reads the arrays of an npz file in file order, or the single array of an npy file, named after the file. The content
// determines the format. Errors name the file and, for an npz, the entry: unreadable, truncated, wrong checksum,
// encrypted, duplicate name, ...
Result<Arrays> read_arrays(const std::string& path);

// Writes an npz file completely or not at all (lib/support/write_file.h).
Status write_npz(const std::string& path, const Arrays& arrays);

}  // namespace tgc
