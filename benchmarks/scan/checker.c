/* A plain check of a store, for comparison: what a careful C programmer would write in an afternoon.
 *
 * usage: checker STORE
 *
 * Walks the commit log once. Of every record: its structure, the CRC-32 of its body (slicing by 16), topic and properties
 * as text, the hash of its tag, and the entry of its consume queue, which must lead back to it with size and hash; then,
 * that no queue has more entries than records were found. Prints: records, bad ones, seconds of CPU, peak memory in KiB.
 */
#define _GNU_SOURCE
#include <dirent.h>
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

#define QUEUES 4096
#define ENTRY 20

static inline uint32_t u32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
static inline uint64_t u64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return __builtin_bswap64(v); }
static inline uint16_t u16(const uint8_t *p) { uint16_t v; memcpy(&v, p, 2); return __builtin_bswap16(v); }
static inline uint64_t le(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }

struct bytes { const uint8_t *data; uint64_t size; };
struct queue { char topic[256]; uint32_t topic_size; int32_t id; char path[1024]; struct bytes file; uint64_t start, found; };

static uint32_t tables[16][256];
static struct queue queues[QUEUES];
static int queue_count;

static struct bytes map(const char *path) {
    struct bytes found = {NULL, 0};
    struct stat info;
    int descriptor = open(path, O_RDONLY);
    if (descriptor < 0) return found;
    if (!fstat(descriptor, &info) && info.st_size) {
        void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
        if (data != MAP_FAILED) found.data = data, found.size = (uint64_t)info.st_size;
    }
    close(descriptor);
    return found;
}

static void make_tables(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        tables[0][i] = crc;
    }
    for (int t = 1; t < 16; t++)
        for (int i = 0; i < 256; i++) tables[t][i] = tables[0][tables[t - 1][i] & 255] ^ tables[t - 1][i] >> 8;
}

static uint32_t crc32(const uint8_t *p, uint64_t size) {
    uint64_t crc = 0xFFFFFFFFu;
    for (; size >= 16; p += 16, size -= 16) {
        uint64_t low = le(p) ^ crc, high = le(p + 8);
        crc = 0;
        for (int i = 0; i < 8; i++) crc ^= tables[15 - i][low >> 8 * i & 255] ^ tables[7 - i][high >> 8 * i & 255];
    }
    for (; size; p++, size--) crc = tables[0][(crc ^ *p) & 255] ^ crc >> 8;
    return (uint32_t)crc ^ 0xFFFFFFFFu;
}

static int is_plain(const uint8_t *p, uint64_t size) {
    for (; size >= 8; p += 8, size -= 8)
        if ((le(p) | (le(p) - 0x0101010101010101u)) & 0x8080808080808080u) return 0;
    for (; size; p++, size--) if (!*p || *p & 0x80) return 0;
    return 1;
}

static struct queue *queue_of(const uint8_t *topic, uint32_t size, int32_t id) {
    uint32_t slot = 0;
    for (uint32_t i = 0; i < size; i++) slot = slot * 31 + topic[i];
    for (slot = (slot + (uint32_t)id * 7) % QUEUES;; slot = (slot + 1) % QUEUES) {
        struct queue *q = &queues[slot];
        if (!q->topic_size) {
            if (++queue_count == QUEUES) exit(70);
            memcpy(q->topic, topic, size);
            q->topic_size = size, q->id = id, q->start = UINT64_MAX;
        }
        if (q->topic_size == size && q->id == id && !memcmp(q->topic, topic, size)) return q;
    }
}

/* The queue's entry of a logical offset; its files are mapped one after the other. */
static const uint8_t *entry_of(struct queue *q, const char *store, uint64_t offset, uint64_t file_entries) {
    uint64_t start = offset / file_entries * file_entries;
    if (q->start != start) {
        if (q->file.data) munmap((void *)q->file.data, q->file.size);
        snprintf(q->path, sizeof q->path, "%s/consumequeue/%.*s/%d/%020llu", store, (int)q->topic_size, q->topic, q->id,
                 (unsigned long long)start * ENTRY);
        q->file = map(q->path);
        q->start = start;
    }
    uint64_t at = (offset - start) * ENTRY;
    return at + ENTRY <= q->file.size ? q->file.data + at : NULL;
}

/* Checks the record at `at`; returns its size, or 0 when no acceptable one stands there. */
static uint32_t check(const uint8_t *base, uint64_t length, uint64_t start, uint64_t at, const char *store, uint64_t *bad) {
    if (at + 92 > length) return 0;
    const uint8_t *p = base + at;
    uint32_t size = u32(p), magic = u32(p + 4), sys = u32(p + 36);
    if ((magic != 0xDAA320A7u && magic != 0xDAA320ABu) || size < 92 || at + size > length || u64(p + 28) != start + at) return 0;
    const uint8_t *q = p + 56 + (sys & 0x10 ? 20 : 8) + (sys & 0x20 ? 20 : 8);
    uint32_t body = u32(q + 12);
    if (body > size) return 0;
    const uint8_t *text = q + 16 + body;
    uint32_t wide = magic == 0xDAA320ABu, topic_size = wide ? u16(text) : *text;
    const uint8_t *topic = text + 1 + wide, *properties = topic + topic_size + 2;
    uint32_t properties_size = u16(properties - 2);
    if (topic_size > 255 || !topic_size || properties + properties_size != p + size) return 0;
    int wrong = (crc32(q + 16, body) & 0x7FFFFFFFu) != u32(p + 8);
    wrong |= !is_plain(topic, topic_size) || !is_plain(properties, properties_size);
    int32_t tag = 0;
    for (const uint8_t *item = properties, *end = p + size; item < end;) {
        const uint8_t *stop = memchr(item, 2, (size_t)(end - item));
        if (!stop) stop = end;
        if (stop - item > 5 && !memcmp(item, "TAGS\1", 5)) {
            uint32_t hash = 0;
            for (const uint8_t *c = item + 5; c < stop; c++) hash = hash * 31 + *c;
            tag = (int32_t)hash;
        }
        item = stop + 1;
    }
    struct queue *mine = queue_of(topic, topic_size, (int32_t)u32(p + 12));
    const uint8_t *entry = entry_of(mine, store, u64(p + 20), 300000);
    mine->found++;
    wrong |= !entry || u64(entry) != start + at || u32(entry + 8) != size || (int64_t)u64(entry + 12) != tag;
    *bad += (uint64_t)wrong;
    return size;
}

int main(int argc, char **argv) {
    if (argc != 2) return 64;
    char path[4096];
    struct dirent **names;
    struct timespec before, after;
    uint64_t records = 0, bad = 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    make_tables();
    snprintf(path, sizeof path, "%s/commitlog", argv[1]);
    int count = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (strlen(names[i]->d_name) != 20) continue;
        snprintf(path, sizeof path, "%s/commitlog/%s", argv[1], names[i]->d_name);
        struct bytes file = map(path);
        uint64_t start = strtoull(names[i]->d_name, NULL, 10), at = 0;
        for (uint32_t size; file.data && (size = check(file.data, file.size, start, at, argv[1], &bad)) != 0; at += size) records++;
        if (file.data) munmap((void *)file.data, file.size);
    }
    for (int i = 0; i < QUEUES; i++) {
        if (!queues[i].topic_size) continue;
        const uint8_t *more = entry_of(&queues[i], argv[1], queues[i].found, 300000);
        bad += more && u32(more + 8) > 0;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%llu %llu %.6f %ld\n", (unsigned long long)records, (unsigned long long)bad,
           (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec), usage.ru_maxrss);
    return 0;
}
