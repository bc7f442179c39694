// What the program asks of its process: that it ends with exit code 0, 1 or 2 and says why.
#pragma once

namespace tgc {

class Cancel;

// Before anything else: standard streams that are closed do not become files of ours; a reader that is gone and a file
// that grows over its limit are errors of write(), not signals; an exception that nobody caught, no memory before main
// and a stack that is too small are exit code 2 and one line. A crash stays one, and says what the thread was at
// (lib/support/crash_context.h).
void prepare_process();

// Whether an allocation of C++ has failed so far, in this process. Streams of strings swallow that.
bool memory_ran_out();

// The request that SIGINT makes from the first call on: what works on many graphs stops before the next one. A second
// SIGINT ends the process at once.
Cancel& cancel_by_interrupt();
// From here on SIGTERM makes the same request: for searches of hours, which a job's time limit ends by it. To be called
// before the first file is written.
void heed_termination();

}  // namespace tgc
