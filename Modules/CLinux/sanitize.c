// What the sanitizers can't see by themselves; nothing in other builds.
#include <stdint.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// Else it would unmap the stack on which a thread of ours hears of its crash.
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "use_sigaltstack=0"; }
#endif

#if __has_feature(thread_sanitizer)
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

// What a request reads of its node without a lock is kept for it by the kernel.
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) { return "race:NodeTableC5entry2of\n"; }

#define SELF __attribute__((swift_context))
#define SWIFT __attribute__((swiftcall))
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// Where a Mutex is fought for, Swift's library locks it, which is not built for the sanitizer. The
// executable's own functions come first, and tell what these do.
SWIFT void sanitized_lock(uint32_t thread, SELF void *self) __asm__(LOCK);
SWIFT void sanitized_unlock(SELF void *self) __asm__(UNLOCK);

SWIFT void sanitized_lock(uint32_t thread, SELF void *self) {
  SWIFT void (*lock)(uint32_t, SELF void *) =
      (SWIFT void (*)(uint32_t, SELF void *))dlsym(RTLD_NEXT, LOCK);
  lock(thread, self);
  __tsan_acquire(self);
}

SWIFT void sanitized_unlock(SELF void *self) {
  SWIFT void (*unlock)(SELF void *) = (SWIFT void (*)(SELF void *))dlsym(RTLD_NEXT, UNLOCK);
  __tsan_release(self);
  unlock(self);
}
#endif
#endif
