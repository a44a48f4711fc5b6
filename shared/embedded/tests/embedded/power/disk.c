/* A traced disk. It records the changes that a process makes to the files below one folder, in the
 * order of the calls.
 *
 * It is loaded before the C library (LD_PRELOAD). Every change below DISK_ROOT is written to
 * DISK_TRACE as one record (struct head, then its two texts), so that a test can compute what a
 * power cut at any record would have left. A sync is recorded but not made. It takes SYNC_US
 * instead, however slow the disk of the tests is. Writes to DISK_ACKS also go to the trace, which
 * gives them a place among the syncs. Files whose names end with "-shm" are memory and are left
 * out.
 *
 * DISK_FULL names a file. While it exists, no byte can be written below DISK_ROOT. With
 * DISK_READ_ONLY, nothing can be changed there. Both work without a trace.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SYNC_US 500
#define MAX_FD 4096

struct head {
    uint64_t nanoseconds;
    uint64_t offset;
    uint32_t operation;
    uint32_t handle;
    uint32_t first;
    uint32_t second;
};

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *root, *acks, *full;
static int trace = -1, read_only;
static uint32_t next_handle = 1, handles[MAX_FD];
#define ACKS UINT32_MAX

static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static int (*real_ftruncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_rename)(const char *, const char *);
static int (*real_unlink)(const char *);
static int (*real_mkdir)(const char *, mode_t);

static void begin(void) {
    real_open = dlsym(RTLD_NEXT, "open64");
    real_close = dlsym(RTLD_NEXT, "close");
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_writev = dlsym(RTLD_NEXT, "writev");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_rename = dlsym(RTLD_NEXT, "rename");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    real_mkdir = dlsym(RTLD_NEXT, "mkdir");
    root = getenv("DISK_ROOT");
    acks = getenv("DISK_ACKS");
    full = getenv("DISK_FULL");
    read_only = getenv("DISK_READ_ONLY") != NULL;
    const char *path = getenv("DISK_TRACE");
    if (path) trace = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void start(void) { pthread_once(&once, begin); }

static int below(const char *path) {
    if (!root || !path) return 0;
    size_t length = strlen(root), whole = strlen(path);
    if (strncmp(path, root, length) || (path[length] && path[length] != '/')) return 0;
    return whole < 4 || strcmp(path + whole - 4, "-shm");
}

static void record(char operation, uint32_t handle, uint64_t offset, const void *first, size_t n, const void *second,
                   size_t m) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct head head = {(uint64_t)now.tv_sec * 1000000000u + now.tv_nsec, offset, operation, handle, n, m};
    struct iovec parts[3] = {{&head, sizeof head}, {(void *)first, n}, {(void *)second, m}};
    if (trace >= 0 && real_writev(trace, parts, 3) != (ssize_t)(sizeof head + n + m)) abort();
}

static uint32_t handle_of(int fd) { return fd >= 0 && fd < MAX_FD ? handles[fd] : 0; }

static int no_room(int fd) {
    if (!full || !handle_of(fd) || access(full, F_OK)) return 0;
    errno = ENOSPC;
    return 1;
}

static int refused(const char *path) {
    if (!read_only || !below(path)) return 0;
    errno = EROFS;
    return 1;
}

static int opened(const char *path, int flags, mode_t mode) {
    start();
    if ((flags & O_ACCMODE) != O_RDONLY && refused(path)) return -1;
    pthread_mutex_lock(&order);
    int fd = real_open(path, flags, mode), error = errno;
    if (fd >= 0 && fd < MAX_FD) {
        handles[fd] = 0;
        if (acks && !strcmp(path, acks)) {
            handles[fd] = ACKS;
        } else if (below(path)) {
            handles[fd] = next_handle++;
            /* Bit 0: may create the file. Bit 1: truncates it. Bit 2: it is a folder. */
            struct stat about;
            int folder = !fstat(fd, &about) && S_ISDIR(about.st_mode);
            uint64_t kind = (flags & O_CREAT ? 1 : 0) + (flags & O_TRUNC ? 2 : 0) + (folder ? 4 : 0);
            record('O', handles[fd], kind, path, strlen(path), "", 0);
        }
    }
    pthread_mutex_unlock(&order);
    errno = error;
    return fd;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }

int open(const char *path, int flags, ...) { MODE(flags) return opened(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return opened(path, flags, mode); }
int creat(const char *path, mode_t mode) { return opened(path, O_WRONLY | O_CREAT | O_TRUNC, mode); }

int close(int fd) {
    start();
    pthread_mutex_lock(&order);
    if (fd >= 0 && fd < MAX_FD) handles[fd] = 0;
    int result = real_close(fd), error = errno;
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

static ssize_t put(int fd, const void *bytes, size_t count, off_t offset, int has_offset) {
    uint32_t handle = handle_of(fd);
    if (no_room(fd)) return -1;
    if (!handle) return has_offset ? real_pwrite(fd, bytes, count, offset) : real_write(fd, bytes, count);
    pthread_mutex_lock(&order);
    if (!has_offset) {
        struct stat about;
        offset = fcntl(fd, F_GETFL) & O_APPEND && !fstat(fd, &about) ? about.st_size : lseek(fd, 0, SEEK_CUR);
    }
    ssize_t done = has_offset ? real_pwrite(fd, bytes, count, offset) : real_write(fd, bytes, count);
    int error = errno;
    if (done > 0) record(handle == ACKS ? 'A' : 'W', handle, offset, bytes, done, "", 0);
    pthread_mutex_unlock(&order);
    errno = error;
    return done;
}

ssize_t write(int fd, const void *bytes, size_t count) { start(); return put(fd, bytes, count, 0, 0); }
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { start(); return put(fd, bytes, count, at, 1); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t at) { start(); return put(fd, bytes, count, at, 1); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
    start();
    if (!handle_of(fd)) return real_writev(fd, parts, count);
    /* Every caller handles a write of fewer bytes than requested. */
    for (int i = 0; i < count; i++)
        if (parts[i].iov_len) return put(fd, parts[i].iov_base, parts[i].iov_len, 0, 0);
    return 0;
}

static int cut(int fd, off_t length) {
    start();
    pthread_mutex_lock(&order);
    int result = real_ftruncate(fd, length), error = errno;
    if (!result && handle_of(fd)) record('T', handle_of(fd), length, "", 0, "", 0);
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off_t length) { return cut(fd, length); }

static int synced(int fd) {
    start();
    if (trace < 0 || !handle_of(fd)) return real_fsync(fd);
    pthread_mutex_lock(&order);
    record('S', handle_of(fd), 0, "", 0, "", 0);
    pthread_mutex_unlock(&order);
    /* Writes from here on come too late for this sync. */
    usleep(SYNC_US);
    return 0;
}

int fsync(int fd) { return synced(fd); }
int fdatasync(int fd) { return synced(fd); }

int rename(const char *from, const char *to) {
    start();
    if (refused(from)) return -1;
    pthread_mutex_lock(&order);
    int result = real_rename(from, to), error = errno;
    if (!result && below(from)) record('R', 0, 0, from, strlen(from), to, strlen(to));
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

int unlink(const char *path) {
    start();
    if (refused(path)) return -1;
    pthread_mutex_lock(&order);
    int result = real_unlink(path), error = errno;
    if (!result && below(path)) record('U', 0, 0, path, strlen(path), "", 0);
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

int mkdir(const char *path, mode_t mode) {
    start();
    if (refused(path)) {
        if (!access(path, F_OK)) errno = EEXIST;
        return -1;
    }
    pthread_mutex_lock(&order);
    int result = real_mkdir(path, mode), error = errno;
    if (!result && below(path)) record('M', 0, 0, path, strlen(path), "", 0);
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

/* These calls would write without a trace. Callers fall back to read and write. */
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t count, unsigned flags) {
    (void)in, (void)from, (void)out, (void)to, (void)count, (void)flags;
    errno = ENOSYS;
    return -1;
}

ssize_t sendfile(int out, int in, off_t *offset, size_t count) {
    (void)out, (void)in, (void)offset, (void)count;
    errno = ENOSYS;
    return -1;
}

ssize_t sendfile64(int out, int in, off64_t *offset, size_t count) {
    (void)out, (void)in, (void)offset, (void)count;
    errno = ENOSYS;
    return -1;
}
