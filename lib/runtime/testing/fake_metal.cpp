// A fake Objective-C runtime and Metal in one library. Objects are records; messages are found by name. objc_msgSend is
// variadic, which passes integers, pointers and 24-byte structures correctly on x86-64. The caller releases the results
// of new... and alloc; other objects belong to the innermost autorelease pool. An object without a pool, which would
// leak, is logged, and so is the number of objects left at the end.
#include <cstdint>
#include <string>
#include <vector>

#include "lib/runtime/testing/fake_driver.h"

namespace {

struct GridSize {
  uint64_t width, height, depth;
  uint64_t volume() const { return width * height * depth; }
};

struct FakeObject {
  const char* kind;
  int references = 1;
  std::string text = {};
  void* memory = nullptr;
  uint64_t bytes = 0;
};

FakeObject device{"device"};
FakeObject* arguments[8];  // buffers of the kernel that is being encoded
int constant = 0;
GridSize groups, threads;

int alive = 0;
std::vector<std::vector<FakeObject*>> pools;

FakeObject* make_object(const char* kind, const char* text = "") {
  if (fake::should_fail(kind)) return nullptr;
  alive++;
  return new FakeObject{kind, 1, text};
}

FakeObject* autorelease(FakeObject* o) {
  if (!o) return o;
  if (pools.empty()) fake::log("%s WITHOUT A POOL", o->kind);
  else pools.back().push_back(o);
  return o;
}

void release(FakeObject* o) {
  if (o == &device) {
    fake::log("release device, %d objects left", alive);
    return;
  }
  fake::log("release %s", o->kind);
  if (--o->references > 0) return;
  if (std::strcmp(o->kind, "pool") == 0) {
    for (FakeObject* held : pools.back()) release(held);
    pools.pop_back();
  }
  std::free(o->memory);
  delete o;
  alive--;
}

}  // namespace

extern "C" {
FakeObject* MTLCreateSystemDefaultDevice() { return fake::should_fail("no GPU") ? nullptr : &device; }

FakeObject* objc_getClass(const char* name) {
  static FakeObject classes{"class"};
  classes.text = name;
  return &classes;
}

const char* sel_registerName(const char* name) { return name; }

void* objc_msgSend(FakeObject* self, const char* message, ...) {
  if (!self) return nullptr;
  va_list list;
  va_start(list, message);
  std::string m = message;
  void* result = nullptr;
  if (m == "alloc") {
    bool pool = self->text == "NSAutoreleasePool";
    if (pool) pools.emplace_back();
    result = make_object(pool ? "pool" : "options");
  } else if (m == "init") result = self;
  else if (m == "retain") result = (self->references++, self);
  else if (m == "release") release(self);
  else if (m == "stringWithUTF8String:") {
    result = autorelease(make_object("string", va_arg(list, const char*)));
  } else if (m == "UTF8String") result = const_cast<char*>(self->text.c_str());
  else if (m == "localizedDescription") result = self;
  else if (m == "name") {
    result = autorelease(make_object("string", "Fake M1"));
  } else if (m == "newCommandQueue") result = make_object("queue");
  else if (m == "newBufferWithLength:options:") {
    auto o = make_object("buffer");
    if (o)
      o->bytes = va_arg(list, uint64_t), o->memory = std::malloc(o->bytes),
      fake::log("new buffer %llu", static_cast<unsigned long long>(o->bytes));
    result = o;
  } else if (m == "contents") result = self->memory;
  else if (m == "setFastMathEnabled:") fake::log("fast math %d", va_arg(list, int));
  else if (m == "newLibraryWithSource:options:error:") {
    auto text = va_arg(list, FakeObject*);
    va_arg(list, FakeObject*);
    auto error = va_arg(list, FakeObject**);
    if (text->text.find("kernel void") != std::string::npos) result = make_object("library");
    else *error = autorelease(make_object("error", "no kernel in the source"));
  } else if (m == "newFunctionWithName:") {
    auto name = va_arg(list, FakeObject*);
    fake::log("function %s", name->text.c_str());
    result = name->text == "missing" ? nullptr : make_object("function");
  } else if (m == "newComputePipelineStateWithFunction:error:") result = make_object("pipeline");
  else if (m == "maxTotalThreadsPerThreadgroup") result = reinterpret_cast<void*>(uint64_t(1024));
  else if (m == "commandBuffer") result = autorelease(make_object("commands"));
  else if (m == "computeCommandEncoder") result = autorelease(make_object("encoder"));
  else if (m == "setBuffer:offset:atIndex:") {
    auto buffer = va_arg(list, FakeObject*);
    auto offset = va_arg(list, uint64_t), index = va_arg(list, uint64_t);
    arguments[index] = buffer;
    fake::log("buffer %llu at offset %llu", static_cast<unsigned long long>(index),
              static_cast<unsigned long long>(offset));
  } else if (m == "setBytes:length:atIndex:") {
    constant = *va_arg(list, const int*);
    auto length = va_arg(list, uint64_t);
    fake::log("constant %d of %llu bytes at %llu", constant, static_cast<unsigned long long>(length),
              static_cast<unsigned long long>(va_arg(list, uint64_t)));
  } else if (m == "dispatchThreadgroups:threadsPerThreadgroup:") {
    groups = va_arg(list, GridSize), threads = va_arg(list, GridSize);
    fake::log("dispatch %llu x %llu", static_cast<unsigned long long>(groups.volume()),
              static_cast<unsigned long long>(threads.volume()));
  } else if (m == "endEncoding") fake::log("endEncoding");
  else if (m == "commit") {
    fake::log("commit");
    fake::run_kernel(static_cast<float*>(arguments[0]->memory), static_cast<const float*>(arguments[1]->memory),
                     constant, groups.volume() * threads.volume());
  } else if (m == "waitUntilCompleted") fake::log("waitUntilCompleted");
  else if (m == "error")
    result = fake::should_fail("GPU fault") ? autorelease(make_object("error", "the GPU hung")) : nullptr;
  else if (m != "setComputePipelineState:") fake::log("UNKNOWN MESSAGE %s", message);
  va_end(list);
  return result;
}
}
