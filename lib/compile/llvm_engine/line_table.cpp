#include "lib/compile/llvm_engine/line_table.h"

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>

#include <vector>

#include "lib/support/lines.h"

namespace tgc {
namespace {

struct Body {
  unsigned header = 0;                  // line number of the function's "define"
  std::vector<unsigned> instructions;  // line number of each instruction of the function
};

// Returns every function body of the text, in order.
std::vector<Body> bodies_of(std::string_view text) {
  std::vector<Body> bodies;
  bool inside = false;
  unsigned number = 0;
  for (std::string_view whole : lines_of(text)) {
    std::string_view line = trimmed(whole);
    number++;
    if (line.starts_with("define ")) bodies.push_back({number, {}});
    if (line.starts_with("}")) inside = false;
    else if (inside && !line.empty() && line[0] != ';' && line.back() != ':')
      bodies.back().instructions.push_back(number);
    if (!bodies.empty() && line.ends_with("{")) inside = true;
  }
  return bodies;
}

}  // namespace

void add_line_table(llvm::Module& module, std::string_view text) {
  std::vector<Body> bodies = bodies_of(text);
  std::vector<llvm::Function*> functions;
  for (llvm::Function& f : module)
    if (!f.isDeclaration()) functions.push_back(&f);
  if (bodies.size() != functions.size()) return;
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  llvm::DIBuilder builder(module);
  llvm::DIFile* file = builder.createFile("source", "");
  builder.createCompileUnit(llvm::dwarf::DW_LANG_C, file, "tgc", true, "", 0, "", llvm::DICompileUnit::LineTablesOnly);
  auto* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  for (size_t i = 0; i < functions.size(); i++) {
    std::vector<llvm::Instruction*> instructions;
    for (llvm::Instruction& inst : llvm::instructions(functions[i])) instructions.push_back(&inst);
    if (instructions.size() != bodies[i].instructions.size()) continue;
    auto* scope = builder.createFunction(file, functions[i]->getName(), functions[i]->getName(), file, bodies[i].header,
                                         type, bodies[i].header, llvm::DINode::FlagZero,
                                         llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
    functions[i]->setSubprogram(scope);
    for (size_t k = 0; k < instructions.size(); k++)
      instructions[k]->setDebugLoc(llvm::DILocation::get(module.getContext(), bodies[i].instructions[k], 0, scope));
  }
  builder.finalize();
}

}  // namespace tgc
