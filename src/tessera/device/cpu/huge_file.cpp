// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/cpu/huge_file.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>

// Whether pages of shared memory are huge is a matter of where its file lies. The mount that the
// kernel has for memfds mostly says no; one of our own says yes. It is attached to no folder, so
// nobody else sees it, and it goes with its last file. Mounting is for whoever rules the system, or
// a name space of users of its own: a child enters one where we may not mount ourselves.

namespace tessera {
namespace {

int mount_and_make(const char* name) {
  const auto set = [](int context, unsigned what, const char* key, const char* value) {
    return syscall(SYS_fsconfig, context, what, key, value, 0) == 0;
  };
  int file = -1, mounted = -1;
  const int context = static_cast<int>(syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC));
  if (context >= 0 && set(context, FSCONFIG_SET_STRING, "huge", "always") &&
      set(context, FSCONFIG_SET_STRING, "size", "0") &&  // as much as there is
      set(context, FSCONFIG_CMD_CREATE, nullptr, nullptr))
    mounted = static_cast<int>(syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0));
  if (mounted >= 0) {
    file = openat(mounted, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    unlinkat(mounted, name, 0);
    close(mounted);
  }
  if (context >= 0) close(context);
  return file;
}

struct Child {
  const char* name;
  char user[64], group[64];
  int file = -1;
};

void write_to(const char* path, const char* text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, text, std::strlen(text)) < 0) errno = 0;  // then making the file fails
  close(file);
}

// Runs in our memory and with our table of files, while we wait: calls of the kernel and nothing
// else.
int run_child(void* state) {
  auto* child = static_cast<Child*>(state);
  write_to("/proc/self/setgroups", "deny");
  write_to("/proc/self/uid_map", child->user);
  write_to("/proc/self/gid_map", child->group);
  child->file = mount_and_make(child->name);
  _exit(0);
}

int make_in_child(const char* name) {
  constexpr std::size_t stack_bytes = 64 << 10;
  const auto stack = std::make_unique<std::byte[]>(stack_bytes);
  Child child{name, {}, {}};
  std::snprintf(child.user, sizeof child.user, "%u %u 1", geteuid(), geteuid());
  std::snprintf(child.group, sizeof child.group, "%u %u 1", getegid(), getegid());
  const int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_NEWUSER | CLONE_NEWNS;
  sigset_t all, before;  // our handlers are not for the child
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t id = clone(run_child, stack.get() + stack_bytes, flags, &child);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (id < 0) return -1;
  while (waitpid(id, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  return child.file;
}

// One byte takes a whole huge page, or the system refuses them after all, or has others than we
// reckon with.
bool has_huge_pages(int file) {
  void* const seen = mmap(nullptr, static_cast<std::size_t>(huge_page), PROT_READ | PROT_WRITE,
                          MAP_SHARED, file, 0);
  if (seen == MAP_FAILED) return false;
  *static_cast<volatile char*>(seen) = 1;
  struct stat found {};
  const bool huge = fstat(file, &found) == 0 && found.st_blocks * 512 == huge_page;
  madvise(seen, static_cast<std::size_t>(huge_page), MADV_REMOVE);
  munmap(seen, static_cast<std::size_t>(huge_page));
  return huge;
}

// A file beyond the limit of the process would end it with a signal.
bool allowed(i64 bytes) {
  rlimit most{};
  return getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur >= static_cast<rlim_t>(bytes);
}

}  // namespace

int make_huge_file(const char* name, i64 bytes) {
  if (!allowed(bytes)) return -1;
  int file = mount_and_make(name);
  if (file < 0) file = make_in_child(name);
  if (file < 0 || (ftruncate(file, bytes) == 0 && has_huge_pages(file))) return file;
  close(file);
  return -1;
}

}  // namespace tessera
