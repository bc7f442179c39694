// Functions of the operating system, with substitutes where a system lacks them.
#pragma once
#include <string>

// True on Linux, unless the build is to use only POSIX (TGC_PORTABLE).
#if defined(__linux__) && !defined(TGC_PORTABLE)
#define TGC_LINUX 1
#else
#define TGC_LINUX 0
#endif

namespace tgc {

// Makes a pipe whose ends are closed when the process executes another program. Returns false and sets errno if it
// fails. Without pipe2, a program that another thread executes at the same moment may inherit the ends.
bool make_pipe(int ends[2]);

// Accepts a connection and returns its descriptor, which is closed when the process executes another program. Returns
// -1 and sets errno if accepting fails.
int accept_connection(int socket);

// Returns the processor time in seconds that this process and its children that ended have used.
double processor_seconds();

std::string signal_name(int signal);  // "SIGSEGV"; "signal 99" if it has no name

}  // namespace tgc
