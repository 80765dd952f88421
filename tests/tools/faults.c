// Put before a program (LD_PRELOAD): lets one of its calls to the system fail, or kills it around one.
//
//   HQ_FAULT = CALL:WHAT:N   the N-th call of that kind, from 1
//     CALL  write sync rename link unlink syncdir answer
//     WHAT  before after half     the program is killed (as by kill -9) before or after it, or with half of it written
//           enospc eio            it fails; where HQ_FAULT_WHILE names a file: all from it on do while that is there
//   HQ_FAULT_PATH            only files whose path begins like this count; an answer is a message on a socket
//   HQ_FAULT_LOG             a line is written to this file when it happens
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum fault { NONE, BEFORE, AFTER, HALF, FAILS };

static atomic_long calls;

static void note(void) {
    const char *path = getenv("HQ_FAULT_LOG");
    if (!path) return;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return;
    dprintf(fd, "%s\n", getenv("HQ_FAULT"));
    close(fd);
}

static void die(void) {
    note();
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

// What is to happen with this call.
static enum fault fault_of(const char *call) {
    const char *fault = getenv("HQ_FAULT");
    size_t len = strlen(call);
    if (!fault || strncmp(fault, call, len) || fault[len] != ':') return NONE;
    const char *what = fault + len + 1, *number = strchr(what, ':');
    if (!number) return NONE;
    long wanted = atol(number + 1), now = atomic_fetch_add(&calls, 1) + 1;
    if (!strncmp(what, "enospc", 6) || !strncmp(what, "eio", 3)) {
        const char *while_there = getenv("HQ_FAULT_WHILE");
        if (while_there ? now < wanted || access(while_there, F_OK) : now != wanted) return NONE;
        note();
        errno = what[1] == 'n' ? ENOSPC : EIO;
        return FAILS;
    }
    if (now != wanted) return NONE;
    return *what == 'b' ? BEFORE : *what == 'h' ? HALF : AFTER;
}

static int counts(const char *path) {
    const char *wanted = getenv("HQ_FAULT_PATH");
    return !wanted || !strncmp(path, wanted, strlen(wanted));
}

static int counts_fd(int fd, int directory) {
    char name[64], path[4096];
    struct stat info;
    if (fstat(fd, &info) || !S_ISDIR(info.st_mode) != !directory) return 0;
    if (directory) return 1;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(name, path, sizeof path - 1);
    if (len < 0) return 0;
    path[len] = 0;
    return counts(path);
}

static int is_socket(int fd) {
    struct stat info;
    return !fstat(fd, &info) && S_ISSOCK(info.st_mode);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
// A call with a fault around it.
#define AROUND(call, matters, failure, real)                              \
    do {                                                                  \
        enum fault fault = (matters) ? fault_of(call) : NONE;             \
        if (fault == BEFORE || fault == HALF) die();                      \
        if (fault == FAILS) return failure;                               \
        __typeof__(real) result = real;                                   \
        if (fault == AFTER) die();                                        \
        return result;                                                    \
    } while (0)

static ssize_t written(int fd, const void *bytes, size_t len, off_t at, ssize_t (*real)(int, const void *, size_t, off_t)) {
    enum fault fault = counts_fd(fd, 0) ? fault_of("write") : NONE;
    if (fault == BEFORE) die();
    if (fault == FAILS) return -1;
    ssize_t result = real(fd, bytes, fault == HALF ? len / 2 : len, at);
    if (fault == AFTER || fault == HALF) die();
    return result;
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at) { return written(fd, bytes, len, at, REAL(pwrite)); }
ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at) { return written(fd, bytes, len, at, REAL(pwrite64)); }

int fdatasync(int fd) { AROUND("sync", counts_fd(fd, 0), -1, REAL(fdatasync)(fd)); }
int fsync(int fd) { AROUND("syncdir", counts_fd(fd, 1), -1, REAL(fsync)(fd)); }
int rename(const char *from, const char *to) { AROUND("rename", counts(to), -1, REAL(rename)(from, to)); }
int linkat(int a, const char *from, int b, const char *to, int flags) {
    AROUND("link", counts(to), -1, REAL(linkat)(a, from, b, to, flags));
}
int unlink(const char *path) { AROUND("unlink", counts(path), -1, REAL(unlink)(path)); }

ssize_t send(int fd, const void *bytes, size_t len, int flags) {
    AROUND("answer", is_socket(fd), -1, REAL(send)(fd, bytes, len, flags));
}
ssize_t write(int fd, const void *bytes, size_t len) { AROUND("answer", is_socket(fd), -1, REAL(write)(fd, bytes, len)); }
ssize_t writev(int fd, const struct iovec *parts, int count) {
    AROUND("answer", is_socket(fd), -1, REAL(writev)(fd, parts, count));
}
