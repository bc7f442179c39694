// GraphCompiler: who compiles the graphs of a session: tgc itself (graph_compiler.cpp), or the tinygrad of the user
// that --live names (live_compiler.cpp). It also takes graphs as they were read: it chooses their settings, and imports
// those of other releases. Session::compiler() (lib/driver) makes it; nothing else asks which of the two compiles.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/compilation/input_graph.h"
#include "lib/live/tinygrad_process.h"

namespace tgc {

class Pipeline;
class TinygradPool;

// Overrides: the user's choices, which replace what an input says about itself.

// If a field is empty, the input decides.
struct Overrides {
  std::string target;              // DEVICE[:RENDERER[:ARCH]]
  std::vector<std::string> sets;   // KEY=VALUE each, by tinygrad's names
  std::string opts;                // the opts (schedule choices) that the optimizer applies: "[Opt(...), ...]"
  // the stage that made the input graph; if the input is a golden record, its graph after this stage is read
  std::string from;
  std::vector<std::string> sizes;  // NAME=SIZE each: a model's symbolic dimensions
  std::string weights;             // a file with the tensors that a model's initializers refer to
  bool imports = false;            // import kernels of other tinygrad releases (lib/import) as they are read
  bool native = false;             // compile an imported kernel with tgc's own pipeline
  bool recorded = false;           // show what a record has, although tgc's own pipeline could compile it
  std::string live;                // a Python or command whose tinygrad compiles (named_tinygrad); empty: tgc compiles
  bool live_rewrites = false;      // the live pipeline records the matches of rules, too
  // The command's other options, such as " --emulate --timeout=9", for the command that repeats a failure.
  std::string other_options;

  // Returns whether an option changes how tgc compiles a graph.
  bool change_compilation() const {
    return !target.empty() || !sets.empty() || !opts.empty() || !from.empty() || native;
  }
};

struct CompilerChoices {
  Overrides over;
  std::string default_target;  // target of a graph that names none
  CompileOptions compile;
  std::function<void(const std::string&)> note;
};

class GraphCompiler : public std::enable_shared_from_this<GraphCompiler> {
 public:
  explicit GraphCompiler(CompilerChoices choices) : choices_(std::move(choices)) {}
  virtual ~GraphCompiler() = default;

  // ---- settings and targets
  // Returns the settings of a graph: tinygrad's defaults, overridden by the environment, then by what a tinygrad named
  // `producer` recorded, then by --set.
  virtual Result<Settings> settings_for(const GoldenSettings& recorded, std::string_view producer = {}) const = 0;
  // Returns the target of `in`: the override, else the target that `in` names, else the default; "" for a tensor graph.
  std::string target_for(const InputGraph& in) const;
  // Returns the parameters of a Compilation of `in`. Errors: an unknown target.
  Result<JobSpec> job_for(const InputGraph& in) const;
  // Returns the settings to write into a repro bundle of `in`, which fails on `device`.
  virtual GoldenSettings settings_of_bundle(const InputGraph& in, std::string_view device) const = 0;

  // ---- graphs as they are read
  // Returns false if --target leaves out the record, whose recording `producer` made.
  virtual bool takes_record(const GoldenRecord&, std::string_view /*producer*/) const { return true; }
  // Returns a graph that was read, with the settings and the stage that it has from now on. Fails if the stage is
  // unknown, or if an option has no effect on the graph.
  Result<InputGraph> take(InputGraph in, const GoldenSettings& recorded) const;
  // Compiles `in` as far as commands need it: tgc does nothing yet, a live pipeline makes the record. Then imports it,
  // if the session does this. `kernel`: the number of a kernel of the schedule of `in`, which replaces `in`; "": none.
  virtual Result<InputGraph> compile(InputGraph in, const std::string& kernel = "") const = 0;
  // Returns `in`, a kernel of another release, imported; any other graph unchanged. Errors about its nodes show the
  // original's lines. If the kernel cannot be imported, returns `in` itself, with ImportedFrom::refused set, so that
  // reading a file of many kernels goes on. Fails if options of the native pipeline are set without --native.
  Result<InputGraph> import(InputGraph in) const;

  // ---- compiling
  // Returns whether tgc's own stages compile `in`, so that its pipeline has Ability::Compile.
  virtual bool compiles(const InputGraph& in) const = 0;
  virtual Result<std::unique_ptr<Pipeline>> pipeline(InputGraph in) const = 0;
  // Begins a Compilation of `in` with job_for(in).
  Result<Compilation> begin(InputGraph in) const;
  // Returns the record that a live pipeline makes of `in`, the AST of a kernel or a tensor graph of any release. Fails
  // for a graph after a stage, for an unknown setting, and if the graph has no form in the release.
  virtual Result<GoldenRecord> record(const InputGraph& in) const = 0;
  // Returns the graph of a record that it made, of a graph of the file `file`; imported, if the session does this.
  Result<InputGraph> graph_of(GoldenRecord record, const std::string& file) const;
  // Returns the records of the kernels of the ONNX model of the file `path`, if not tgc's own frontend reads it.
  // `sizes` are its symbolic dimensions.
  virtual Result<std::optional<std::vector<GoldenRecord>>> kernels_of_model(
      const std::string& path, const std::string& name, const std::map<std::string, int64_t>& sizes) const = 0;

  // ---- what it can do
  // Returns the release of tinygrad that compiles, such as "0.12.0".
  virtual std::string release() const = 0;
  // Returns whether the user's tinygrad applies the opts of kernels, and compiles them.
  virtual bool leaves_opts_to_tinygrad() const { return false; }
  // Fails, with `message`, unless tgc's own frontend and scheduler make the kernels of models and tensor graphs.
  virtual Status need_scheduler(const std::string& message) const = 0;
  // Fails unless it can repeat a failure of a kernel that `release` of tinygrad compiled.
  virtual Status can_repeat(const std::string& release) const = 0;
  // Makes the compiler compile for --device, if it compiles before a run. Returns whether the run uses the list of the
  // record that it made.
  virtual bool compile_for(const std::string& device, Overrides& over) const = 0;

 protected:
  // Returns the settings that are kept with a graph of tgc's own release, and with any other graph.
  virtual GoldenSettings kept_settings(const InputGraph& in, const GoldenSettings& recorded) const = 0;
  virtual Status check_foreign(const InputGraph&) const { return Unit{}; }
  virtual Status check_import(const InputGraph&) const { return Unit{}; }
  Result<InputGraph> imported_if_wanted(InputGraph in) const;
  // Fails unless `kernel` is the number or name of `in`, which is no tensor graph.
  static Status check_kernel(const InputGraph& in, const std::string& kernel);

  const CompilerChoices choices_;
};

std::shared_ptr<const GraphCompiler> own_compiler(CompilerChoices choices);
// `tinygrad` compiles.
std::shared_ptr<const GraphCompiler> live_compiler(CompilerChoices choices, std::shared_ptr<TinygradPool> tinygrad);

// Makes the request to a running tinygrad process to compile a graph.

// Returns the request to run tinygrad's stages after graph.info.stage on `graph`, with the graph's target and settings.
CompileQuestion question_about(const InputGraph& graph);

}  // namespace tgc
