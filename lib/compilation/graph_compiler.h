// GraphCompiler: compiles graphs, either by tgc's own stages (graph_compiler.cpp) or by the user's tinygrad
// (live_compiler.cpp).
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

// The user's options for reading and compiling graphs. Without `target`, `opts` or `start_stage`, the input decides.
struct CompileOverrides {
  std::string target;
  std::vector<std::string> settings_texts;   // KEY=VALUE each, by tinygrad's names
  std::string opts;
  // The stage that made the input graph. From a golden record, the graph after this stage is read.
  std::string start_stage;
  std::vector<std::string> size_texts;  // NAME=SIZE each: a model's symbolic dimensions
  std::string weights_file;             // a file of tensors for a model's initializers and inputs (weights.h)
  bool imports_kernels = false;         // import kernels of other tinygrad releases (lib/import)
  bool uses_native_pipeline = false;    // compile an imported kernel with tgc's own pipeline
  // use the stages of a record, although tgc could compile its graph
  bool uses_recorded_pipeline = false;
  // a Python or command whose tinygrad compiles (resolve_tinygrad); empty: tgc compiles
  std::string live_command;
  bool records_live_rewrites = false;
  // Further options, such as " --emulate --timeout=9", for the command that repeats a failure.
  std::string other_options;

  bool changes_compilation() const {
    return !target.empty() || !settings_texts.empty() || !opts.empty() || !start_stage.empty() || uses_native_pipeline;
  }
};

struct CompilerChoices {
  CompileOverrides overrides;
  std::string default_target;
  CompileOptions compile_options;
  std::function<void(const std::string&)> note;
};

class GraphCompiler : public std::enable_shared_from_this<GraphCompiler> {
 public:
  explicit GraphCompiler(CompilerChoices choices) : choices_(std::move(choices)) {}
  virtual ~GraphCompiler() = default;

  // ---- settings and targets
  // Returns tinygrad's defaults, overridden by the environment, by the settings that `producer` (empty: 0.12.0)
  // recorded, if it is 0.12.0, and by --set. Fails for an unknown setting or an invalid value. The live compiler
  // ignores --set, and invalid recorded settings.
  virtual Result<Settings> merge_settings(const GoldenSettings& recorded, std::string_view producer = {}) const = 0;
  // Returns the target of `in`: the override, else that of `in`, else the default; "" for a tensor graph without one.
  std::string target_for_input(const InputGraph& in) const;
  // Fails for an unknown target.
  Result<CompilationSpec> spec_for_input(const InputGraph& in) const;
  // Returns the settings to write into a repro bundle of `in`, which fails on `device`.
  virtual GoldenSettings settings_of_bundle(const InputGraph& in, std::string_view device) const = 0;

  // ---- graphs as they are read
  // Returns false if --target excludes the record. `producer` is the tinygrad release that made the record.
  virtual bool accepts_record(const GoldenRecord&, std::string_view /*producer*/) const { return true; }
  // Completes `in`, which was read from a file: sets GraphInfo::settings. --from sets GraphInfo::stage of a graph of
  // 0.12.0. Fails if an option does not fit the graph, or for a stage's name that is unknown or seems misspelt.
  Result<InputGraph> finish_input(InputGraph in, const GoldenSettings& recorded) const;
  // Prepares `in` for commands: with --live, the user's tinygrad compiles it. Imports a kernel if the CompileOverrides
  // say so. If `kernel` is not empty, returns the kernel with this number in the schedule of `in`; if `in` is a kernel,
  // `kernel` must be 0 or its name.
  virtual Result<InputGraph> compile(InputGraph in, const std::string& kernel = "") const = 0;
  // Imports the kernel `in` if it is of another release than 0.12.0. If the kernel cannot be imported, returns `in`
  // with ImportFacts::import_error set. Fails if an option or setting is invalid or does not fit the graph.
  Result<InputGraph> import_kernel(InputGraph in) const;

  // ---- compiling
  // Returns true if tgc's own stages compile `in`, so that its pipeline has Ability::Compile.
  virtual bool can_compile(const InputGraph& in) const = 0;
  virtual Result<std::unique_ptr<Pipeline>> pipeline(InputGraph in) const = 0;
  Result<Compilation> begin(InputGraph in) const;
  // Returns the record that the user's tinygrad makes of `in`, a kernel's AST or a tensor graph of its own release.
  // Fails without --live, for an input or option that does not fit, or if tinygrad makes no record.
  virtual Result<GoldenRecord> record_of_input(const InputGraph& in) const = 0;
  // Returns the graph of `record`, which a live tinygrad made of a graph of `file`. Imports a kernel if the
  // CompileOverrides say so.
  Result<InputGraph> graph_of_record(GoldenRecord record, const std::string& file) const;
  // Returns the records of the kernels of an ONNX model, the file `path`; nullopt if tgc's own frontend reads models.
  // `sizes` has the values of the model's symbolic dimensions. Fails if --live cannot run the model with these options.
  virtual Result<std::optional<std::vector<GoldenRecord>>> kernels_of_model(
      const std::string& path, const std::string& name, const std::map<std::string, int64_t>& sizes) const = 0;

  // ---- properties of this compiler, and its preparation of a run
  // Returns the release of tinygrad that compiles, such as "0.12.0"; "" if a live tinygrad does not start.
  virtual std::string release_name() const = 0;
  // Returns true if the user's tinygrad applies the opts of kernels.
  virtual bool leaves_opts_to_tinygrad() const { return false; }
  // Fails, with `message`, unless tgc's own scheduler makes the kernels of models and tensor graphs.
  virtual Status require_scheduler(const std::string& message) const = 0;
  // Fails unless this compiler can repeat a failure of a kernel that `release` of tinygrad compiled.
  virtual Status check_can_repeat(const std::string& release) const = 0;
  // Called before a run on `device`, the value of --device. The live compiler sets an empty `over.target` to `device`,
  // unless this is REF. Returns true if the run uses the linear list of the record that this compiler made.
  virtual bool prepare_for_device(const std::string& device, CompileOverrides& over) const = 0;

 protected:
  virtual GoldenSettings settings_to_record(const InputGraph& in, const GoldenSettings& recorded) const = 0;
  virtual Status check_foreign_graph(const InputGraph&) const { return Unit{}; }
  virtual Status check_import(const InputGraph&) const { return Unit{}; }
  Result<InputGraph> import_if_wanted(InputGraph in) const;
  static Status check_kernel_option(const InputGraph& in, const std::string& kernel);

  const CompilerChoices choices_;
};

std::shared_ptr<const GraphCompiler> make_native_compiler(CompilerChoices choices);
std::shared_ptr<const GraphCompiler> make_live_compiler(CompilerChoices choices,
                                                        std::shared_ptr<TinygradPool> tinygrad);

// Returns the request to a tinygrad process to run the stages after graph.info.stage on `graph`.
CompileQuestion question_about_graph(const InputGraph& graph);

}  // namespace tgc
