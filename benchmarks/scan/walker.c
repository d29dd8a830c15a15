/* A plain walker over commit log files, for comparison: what a careful C programmer would write in an hour.
 *
 * usage: walker headers|keys FILE...          hop by record size
 *        walker queue-headers|queue-keys OFFSETS FILE...   positions (native int64) from a file, as a consume queue gives them
 *
 * Every header field lands in a column, as in the scanner under test; "keys" finds the spans of TAGS and KEYS as well.
 * Prints: records, seconds, checksum, peak memory in KiB.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHUNK 16384

static inline uint32_t u32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
static inline uint64_t u64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return __builtin_bswap64(v); }
static inline uint16_t u16(const uint8_t *p) { uint16_t v; memcpy(&v, p, 2); return __builtin_bswap16(v); }

static int32_t size_c[CHUNK], magic_c[CHUNK], crc_c[CHUNK], queue_c[CHUNK], flag_c[CHUNK], sys_c[CHUNK], again_c[CHUNK], body_c[CHUNK];
static int32_t topic_size_c[CHUNK], prop_size_c[CHUNK], tag_size_c[CHUNK], key_size_c[CHUNK];
static int64_t qoff_c[CHUNK], phys_c[CHUNK], born_c[CHUNK], store_c[CHUNK], prep_c[CHUNK], topic_c[CHUNK], prop_c[CHUNK];
static int64_t tag_c[CHUNK], key_c[CHUNK];
static uint64_t checksum;
static int fill;

static void flush_chunk(int keys) {
    for (int i = 0; i < fill; i++) {
        checksum += (uint64_t)size_c[i] + (uint64_t)store_c[i] + (uint64_t)qoff_c[i] + (uint64_t)prop_size_c[i];
        if (keys) checksum += (uint64_t)tag_size_c[i] + (uint64_t)key_c[i];
    }
    fill = 0;
}

/* Returns the record's size, or 0 when no acceptable record stands at `at`. */
static uint32_t take(const uint8_t *base, uint64_t length, uint64_t start, uint64_t at, int keys) {
    if (at + 92 > length) return 0;
    const uint8_t *p = base + at;
    uint32_t size = u32(p), magic = u32(p + 4);
    if ((magic != 0xDAA320A7u && magic != 0xDAA320ABu) || size < 92 || at + size > length) return 0;
    if (u64(p + 28) != start + at) return 0;
    uint32_t sys = u32(p + 36);
    int born = sys & 0x10 ? 20 : 8, store = sys & 0x20 ? 20 : 8, i = fill;
    size_c[i] = (int32_t)size; magic_c[i] = (int32_t)magic; crc_c[i] = (int32_t)u32(p + 8); queue_c[i] = (int32_t)u32(p + 12);
    flag_c[i] = (int32_t)u32(p + 16); qoff_c[i] = (int64_t)u64(p + 20); phys_c[i] = (int64_t)u64(p + 28);
    sys_c[i] = (int32_t)sys; born_c[i] = (int64_t)u64(p + 40); store_c[i] = (int64_t)u64(p + 48 + born);
    const uint8_t *q = p + 56 + born + store;
    again_c[i] = (int32_t)u32(q); prep_c[i] = (int64_t)u64(q + 4);
    uint32_t body = u32(q + 12);
    body_c[i] = (int32_t)body;
    if (body > size) return 0;
    q += 16 + body;
    uint32_t topic = magic == 0xDAA320ABu ? u16(q) : *q;
    q += magic == 0xDAA320ABu ? 2 : 1;
    topic_c[i] = q - base; topic_size_c[i] = (int32_t)topic;
    q += topic;
    uint32_t properties = u16(q);
    q += 2;
    prop_c[i] = q - base; prop_size_c[i] = (int32_t)properties;
    if (q + properties != p + size) return 0;
    if (keys) {
        const uint8_t *end = q + properties;
        tag_c[i] = key_c[i] = -1; tag_size_c[i] = key_size_c[i] = 0;
        while (q < end) {
            const uint8_t *stop = memchr(q, 2, (size_t)(end - q));
            if (!stop) stop = end;
            if (stop - q > 5 && q[4] == 1) {
                if (!memcmp(q, "TAGS", 4)) { tag_c[i] = q + 5 - base; tag_size_c[i] = (int32_t)(stop - q - 5); }
                else if (!memcmp(q, "KEYS", 4)) { key_c[i] = q + 5 - base; key_size_c[i] = (int32_t)(stop - q - 5); }
            }
            q = stop + 1;
        }
    }
    if (++fill == CHUNK) flush_chunk(keys);
    return size;
}

int main(int argc, char **argv) {
    if (argc < 3) return 64;
    int queue = !strncmp(argv[1], "queue-", 6), keys = strstr(argv[1], "keys") != NULL, first = 2 + queue;
    int64_t *offsets = NULL, count = 0, next = 0, records = 0;
    if (queue) {
        FILE *file = fopen(argv[2], "rb");
        struct stat info;
        if (!file || fstat(fileno(file), &info)) return 66;
        count = info.st_size / 8;
        offsets = malloc((size_t)info.st_size);
        if (fread(offsets, 8, (size_t)count, file) != (size_t)count) return 74;
        fclose(file);
    }
    struct timespec before, after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    for (int number = first; number < argc; number++) {
        const char *name = strrchr(argv[number], '/');
        uint64_t start = strtoull(name ? name + 1 : argv[number], NULL, 10);
        int descriptor = open(argv[number], O_RDONLY);
        struct stat info;
        if (descriptor < 0 || fstat(descriptor, &info)) return 66;
        uint64_t length = (uint64_t)info.st_size, at = 0;
        const uint8_t *base = mmap(NULL, length, PROT_READ, MAP_SHARED, descriptor, 0);
        if (base == MAP_FAILED) return 74;
        if (queue) {
            for (; next < count && (uint64_t)offsets[next] < start + length; next++)
                records += take(base, length, start, (uint64_t)offsets[next] - start, keys) != 0;
        } else {
            for (uint32_t size; (size = take(base, length, start, at, keys)) != 0; at += size) records++;
        }
        flush_chunk(keys);
        close(descriptor);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%lld %.6f %llu %ld\n", (long long)records,
           (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec),
           (unsigned long long)checksum, usage.ru_maxrss);
    return 0;
}
