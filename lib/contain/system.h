// Functions that not every operating system has, with substitutes.
#pragma once
#include <string>

// TGC_PORTABLE: compile as for a system other than Linux.
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
// -1 and sets errno if it fails.
int accept_connection(int socket);

// Returns the processor time of this process and of the children that it waited for.
double processor_seconds();

std::string signal_name(int signal);  // returns "SIGSEGV", for example, or "signal 99" if it knows no name

}  // namespace tgc
