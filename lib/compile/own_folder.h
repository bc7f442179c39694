// Folders that are this user's alone.
#pragma once
#include <string>

#include "lib/support/result.h"

namespace tgc {

// Sees that `path` is a folder, no symbolic link, that it belongs to this user and that nobody else may enter it
// (0700); makes it, and those above it, where it is missing.
Status make_own_folder(const std::string& path);

// The folder for temporary files: TMPDIR, else /tmp. An error: what TMPDIR names is no folder.
Result<std::string> temporary_folder();

// Keeps the source of a program for its user to look at, under a name made of `name`: in the compile cache's folder
// "kept" or, without a cache, in "tgc-kept-UID" of the folder for temporary files. Returns where it is.
Result<std::string> keep_for_user(const std::string& name, const std::string& extension, std::string_view text);

}  // namespace tgc
