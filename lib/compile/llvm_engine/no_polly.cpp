// For engines that are linked statically: Debian's clang and LLVM refer to the plugin Polly. This plugin in its place
// adds no passes.
#include <llvm/Passes/PassPlugin.h>

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "none", LLVM_VERSION_STRING, [](llvm::PassBuilder&) {}};
}
