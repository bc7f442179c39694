#pragma once
#include <cstdint>
#include <string>

#include "lib/support/result.h"

namespace tgc {

// Creates the folder `path` and its parents if they are missing, and denies other users access to it. Fails if that is
// impossible, or if `path` is anything but a folder of this user.
Status make_private_folder(const std::string& path);

// Saves a program's source for the user to inspect and returns its path, in the folder "kept" of the compile cache or,
// if that cannot be used, "tgc-kept-UID" of the folder for temporary files. Removes the oldest files if there are too
// many or their sum is too large. Fails if the text is too large, or if the folder or file cannot be made.
Result<std::string> keep_file_for_user(const std::string& name, const std::string& extension, std::string_view text);
// Makes room for a new file of `size` bytes in the folder of keep_file_for_user().
void remove_oldest_kept_files(const std::string& folder, uint64_t size);

}  // namespace tgc
