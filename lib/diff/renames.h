// Renames between tinygrad releases. Before graphs of two releases are compared, both are converted to the names of the
// later release, so that a rename is no difference. renames.def lists the known renames; files of users have one per
// line:
//
//   op DEFINE_GLOBAL PARAM                    kind, old name, new name (of a new field, "")
//   stage "remove_reduce" "remove reduces"
//   form REDUCE                               an op that releases represent differently (listed in renames.cpp)
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

class Renames {
 public:
  Renames() = default;
  // Returns the renames between two releases, given in either order.
  static Renames between(Release a, Release b);
  // Parses lines in the format shown at the top of this file. `file` names the source of the lines in messages.
  static Result<Renames> read(std::string_view text, std::string_view file);

  bool empty() const {
    return ops_.empty() && dtypes_.empty() && values_.empty() && stages_.empty() && new_fields_.empty() &&
           forms_.empty();
  }
  std::string renamed_stage(std::string_view name) const;
  // Returns the graph under `root` with the names of the later release, in the same Graph. Removes color codes and the
  // suffix n1 of "E_4n1" from names of kernels, and converts to one form what the two releases represent differently.
  // `is_older`: the graph is of the earlier release.
  UOp rename_graph(UOp root, bool is_older = false) const;
  // Replaces each of several roots of one Graph by the result of rename_graph().
  void rename_graph(std::span<UOp* const> roots, bool is_older) const;

 private:
  bool add_rename(std::string_view kind, std::string_view from, std::string_view to);
  DType renamed_dtype(DType d) const;
  Arg renamed_arg(Graph& graph, Arg a) const;
  struct Parts;  // op, dtype, sources and arg of a node that is being converted
  void to_common_form(Graph& graph, Parts& node) const;
  void rename_graph(UOp root, bool is_older, UOpMap<UOp>& made) const;

  std::map<std::string, std::string, std::less<>> ops_, dtypes_, values_, stages_, new_fields_, forms_;
};

// Returns the renames for the value of the option --renames: no renames for "none", else those of the named file.
// Returns nullopt for an empty value: the caller then uses the renames between the two releases. Returns an error if
// the file cannot be read, or has a line that is no rename.
Result<std::optional<Renames>> requested_renames(const std::string& option);

// Removes from a kernel's name, or from a text with such names, the suffixes that distinguish kernels of one name in a
// process: "E_4n1" becomes "E_4". A name without color codes is only changed if it has the form E_4_2 or r_4_2.
std::string remove_name_counters(std::string_view text);
// Returns the name of a kernel without color codes and without the suffix that makes it unique.
std::string plain_kernel_name(std::string_view name);

}  // namespace tgc
