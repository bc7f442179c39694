// Functions for folders that only the current user can access.
#pragma once
#include <cstdint>
#include <string>

#include "lib/support/result.h"

namespace tgc {

// Creates the folder `path` and its parents if they are missing, and makes it private (mode 0700). Returns an error if
// `path` cannot be created, is a symbolic link, is not a folder, belongs to another user, or cannot be made private.
Status make_own_folder(const std::string& path);

// Saves a program's source for the user to inspect and returns its path. The file name derives from `name`. The folder
// is "kept" in the compile cache's folder or, if that cannot be used, "tgc-kept-UID" in the folder for temporary files.
// Removes the oldest files in the folder if there are too many or their sum is too large. Fails if the text is too
// large, or if the file cannot be written.
Result<std::string> keep_for_user(const std::string& name, const std::string& extension, std::string_view text);
// Removes the oldest files of keep_for_user()'s folder, so that a new file of `size` bytes keeps the folder within its
// limits.
void remove_oldest_kept_files(const std::string& folder, uint64_t size);

}  // namespace tgc
