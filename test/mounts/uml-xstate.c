/*
 * For LD_PRELOAD with linux.uml. Debian 12's User-Mode Linux keeps 2696 bytes of a process's vector registers. Linux takes
 * them back only whole, and with AMX they have 11 KB: the guest would panic at its first process.
 * Here each PTRACE_SETREGSET of NT_X86_XSTATE is filled up to the size that the kernel has.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static long call(long request, pid_t pid, void *address, void *data) {
  return syscall(SYS_ptrace, request, pid, address, data);
}

static long state(long request, pid_t pid, void *address, struct iovec *part) {
  static __thread char bytes[65536] __attribute__((aligned(64)));
  struct iovec whole = {bytes, sizeof bytes};
  if (call(PTRACE_GETREGSET, pid, address, &whole) < 0) return -1;
  if (part->iov_len > whole.iov_len) part->iov_len = whole.iov_len;
  if (request == PTRACE_GETREGSET) {
    memcpy(part->iov_base, bytes, part->iov_len);
    return 0;
  }
  memcpy(bytes, part->iov_base, part->iov_len);
  return call(PTRACE_SETREGSET, pid, address, &whole);
}

/* As glibc's: the call writes what it peeks at to an address, and the function returns it. */
long ptrace(enum __ptrace_request request, ...) {
  va_list words;
  va_start(words, request);
  pid_t pid = va_arg(words, pid_t);
  void *address = va_arg(words, void *), *data = va_arg(words, void *);
  va_end(words);
  if ((request == PTRACE_GETREGSET || request == PTRACE_SETREGSET) && (long)address == NT_X86_XSTATE)
    return state(request, pid, address, data);
  if (request != PTRACE_PEEKTEXT && request != PTRACE_PEEKDATA && request != PTRACE_PEEKUSER)
    return call(request, pid, address, data);
  long word;
  if (call(request, pid, address, &word) < 0) return -1;
  errno = 0;
  return word;
}
