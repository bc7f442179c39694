// Renames between tinygrad releases: graphs of two releases are converted to the names of the later release before they
// are compared. renames.def lists the known renames; files of users have one per line:
//
//   op DEFINE_GLOBAL PARAM                    kind, old name, new name (of a new field, "")
//   stage "remove_reduce" "remove reduces"
//   form REDUCE                               a form that releases represent differently (listed in renames.cpp)
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

class RenameTable {
 public:
  RenameTable() = default;
  // Returns the renames between two releases, given in either order.
  static RenameTable for_releases(Release a, Release b);
  // Parses lines in the format above; skips empty lines and those that begin with "#". `file` names the lines in
  // messages. Fails if a line is malformed or its kind or form is unknown.
  static Result<RenameTable> read(std::string_view text, std::string_view file);

  bool empty() const {
    return ops_.empty() && dtypes_.empty() && arg_values_.empty() && stages_.empty() && new_fields_.empty() &&
           converted_forms_.empty();
  }
  std::string stage_after_renames(std::string_view name) const;
  // Returns the graph under `root` with the later release's names and plain kernel names, in the form that both
  // releases have in common. `is_older`: the graph is of the earlier release.
  UOp rename_graph(UOp root, bool is_older = false) const;
  // Replaces each root by the result of rename_graph(). The roots belong to one Graph.
  void rename_graph(std::span<UOp* const> roots, bool is_older) const;

 private:
  bool add_rename(std::string_view kind, std::string_view from, std::string_view to);
  DType renamed_dtype(DType d) const;
  Arg renamed_arg(Graph& graph, Arg a) const;
  struct NodeParts;  // a node that is being converted
  void convert_to_common_form(Graph& graph, NodeParts& node) const;
  void rename_graph(UOp root, bool is_older, UOpMap<UOp>& made) const;

  std::map<std::string, std::string, std::less<>> ops_, dtypes_, arg_values_, stages_, new_fields_, converted_forms_;
};

// Returns the renames for a value of the option --renames: an empty table for "none", nullopt for "", else those of the
// file of this name. Fails if the file cannot be read or is malformed.
Result<std::optional<RenameTable>> read_requested_renames(const std::string& option);

// Removes the suffixes by which tinygrad distinguishes kernels of one name, from a name or text: "E_4n1" becomes "E_4".
std::string remove_name_counters(std::string_view text);
// Returns the name of a kernel without color codes and without suffixes such as "n1".
std::string plain_kernel_name(std::string_view name);

}  // namespace tgc
