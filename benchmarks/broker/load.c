/* A load generator that costs next to nothing, so that only the broker's work counts.
 *
 * load send HOST PORT TOPIC QUEUES THREADS COUNT SIZE PIPELINE BATCH
 *                                   each thread keeps PIPELINE sends of BATCH messages each in flight
 * load drain HOST PORT TOPIC QUEUES BATCH                        pulls every queue from 0 to its end, one after another
 * load idle HOST PORT COUNT                                      holds COUNT connections until stdin ends
 *
 * Prints one JSON line. It writes RocketMQ frames by hand (JSON headers) and reads only lengths, codes and offsets.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in server;
static const char *topic;
static int queues, size_bytes, pipeline, batch;
static long per_thread;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void die(const char *what) {
    fprintf(stderr, "load: %s\n", what);
    exit(1);
}

static int dial(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&server, sizeof server)) die("cannot connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void put(int fd, const char *data, long size) {
    while (size > 0) {
        long n = write(fd, data, size);
        if (n <= 0) die("connection lost while writing");
        data += n, size -= n;
    }
}

static void get(int fd, char *data, long size) {
    while (size > 0) {
        long n = read(fd, data, size);
        if (n <= 0) die("connection lost while reading");
        data += n, size -= n;
    }
}

static void word(char *at, unsigned value) {
    unsigned big = htonl(value);
    memcpy(at, &big, 4);
}

static long frame(char *out, const char *header, const char *body, long body_size) {
    long head = strlen(header);
    word(out, 4 + head + body_size);
    word(out + 4, head);
    memcpy(out + 8, header, head);
    if (body_size) memcpy(out + 8 + head, body, body_size);
    return 8 + head + body_size;
}

/* Reads one frame; returns its response code and leaves the header in `header`. */
static int answer(int fd, char *header, char *body, long room) {
    char prefix[8];
    unsigned total, head;
    get(fd, prefix, 8);
    memcpy(&total, prefix, 4), memcpy(&head, prefix + 4, 4);
    total = ntohl(total), head = ntohl(head) & 0xffffff;
    long rest = (long)total - 4 - head;
    if (head > 65000 || rest > room) die("an answer is too long");
    get(fd, header, head);
    header[head] = 0;
    get(fd, body, rest);
    char *code = strstr(header, "\"code\":");
    return code ? atoi(code + 7) : -1;
}

static int by_value(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

struct sender {
    pthread_t thread;
    int number;
    double *latency;
};

/* Fills `out` with the body of one send: the message itself, or a batch of records. */
static long payload(char *out) {
    static const char properties[] = "TAGS\001TagA\002WAIT\001true";
    long at = 0, text = sizeof properties - 1;
    if (batch == 1) {
        memset(out, 'x', size_bytes);
        return size_bytes;
    }
    for (int i = 0; i < batch; i++) {
        memset(out + at, 0, 20);
        word(out + at, 22 + size_bytes + text);
        word(out + at + 16, size_bytes);
        memset(out + at + 20, 'x', size_bytes);
        at += 20 + size_bytes;
        out[at++] = text >> 8, out[at++] = text;
        memcpy(out + at, properties, text);
        at += text;
    }
    return at;
}

static void *sends(void *argument) {
    struct sender *self = argument;
    int fd = dial();
    char header[4096], answered[66000], *body = malloc(batch * (size_bytes + 64)), *sink = malloc(1 << 20);
    char *out = malloc(batch * (size_bytes + 64) + 8192);
    long body_bytes = payload(body);
    double *began = calloc(pipeline, sizeof *began);
    long sent = 0, done = 0;
    while (done < per_thread) {
        while (sent < per_thread && sent - done < pipeline) {
            snprintf(header, sizeof header,
                     "{\"code\":%d,\"extFields\":{\"a\":\"bench\",\"b\":\"%s\",\"c\":\"TBW102\",\"d\":\"%d\",\"e\":\"%ld\","
                     "\"f\":\"0\",\"g\":\"1795217219951\",\"h\":\"0\",\"i\":\"UNIQ_KEY\\u00017F00000100002A9F%08X%08lX"
                     "\\u0002WAIT\\u0001true\\u0002TAGS\\u0001TagA\",\"j\":\"0\",\"k\":\"false\",\"m\":\"%s\",\"n\":\"broker-a\"},"
                     "\"flag\":0,\"language\":\"JAVA\",\"opaque\":%ld,\"serializeTypeCurrentRPC\":\"JSON\",\"version\":409}",
                     batch > 1 ? 320 : 310, topic, queues, (sent + self->number) % queues, self->number, sent,
                     batch > 1 ? "true" : "false", sent);
            began[sent % pipeline] = now();
            put(fd, out, frame(out, header, body, body_bytes));
            sent++;
        }
        if (answer(fd, answered, sink, 1 << 20) != 0) die(answered);
        self->latency[done] = now() - began[done % pipeline];
        done++;
    }
    close(fd);
    return NULL;
}

static void run_sends(int threads, long count) {
    struct sender *all = calloc(threads, sizeof *all);
    double *latency = malloc(sizeof *latency * count);
    per_thread = count / threads;
    double began = now();
    for (int i = 0; i < threads; i++) {
        all[i].number = i, all[i].latency = latency + i * per_thread;
        pthread_create(&all[i].thread, NULL, sends, &all[i]);
    }
    for (int i = 0; i < threads; i++) pthread_join(all[i].thread, NULL);
    double took = now() - began;
    long total = per_thread * threads;
    qsort(latency, total, sizeof *latency, by_value);
    printf("{\"messages\": %ld, \"seconds\": %.4f, \"per_second\": %.0f, \"p50_us\": %.0f, \"p99_us\": %.0f}\n", total * batch, took,
           total * batch / took, latency[total / 2] * 1e6, latency[total * 99 / 100] * 1e6);
}

static long field(const char *header, const char *name) {
    const char *at = strstr(header, name);
    return at ? atol(at + strlen(name)) : -1;
}

static void run_drain(int batch) {
    int fd = dial();
    char header[4096], answered[66000], *out = malloc(8192), *body = malloc(16 << 20);
    long messages = 0, pulls = 0, opaque = 0;
    double began = now();
    for (int queue = 0; queue < queues; queue++) {
        long offset = 0;
        for (;;) {
            snprintf(header, sizeof header,
                     "{\"code\":11,\"extFields\":{\"consumerGroup\":\"bench\",\"topic\":\"%s\",\"queueId\":\"%d\",\"queueOffset\":\"%ld\","
                     "\"maxMsgNums\":\"%d\",\"sysFlag\":\"4\",\"commitOffset\":\"0\",\"suspendTimeoutMillis\":\"15000\","
                     "\"subscription\":\"*\",\"subVersion\":\"0\",\"expressionType\":\"TAG\"},\"flag\":0,\"language\":\"JAVA\","
                     "\"opaque\":%ld,\"serializeTypeCurrentRPC\":\"JSON\",\"version\":409}",
                     topic, queue, offset, batch, opaque++);
            put(fd, out, frame(out, header, NULL, 0));
            int code = answer(fd, answered, body, 16 << 20);
            pulls++;
            if (code == 19) break;
            if (code != 0) die(answered);
            long next = field(answered, "\"nextBeginOffset\":\"");
            messages += next - offset;
            offset = next;
        }
    }
    double took = now() - began;
    printf("{\"messages\": %ld, \"pulls\": %ld, \"seconds\": %.4f, \"per_second\": %.0f}\n", messages, pulls, took,
           messages / took);
}

static void run_idle(int count) {
    char byte;
    for (int i = 0; i < count; i++) dial();
    printf("{\"connections\": %d}\n", count);
    fflush(stdout);
    while (read(0, &byte, 1) > 0) {}
}

int main(int count, char **words) {
    if (count < 5) die("usage: load send|drain|idle HOST PORT ...");
    server.sin_family = AF_INET;
    server.sin_port = htons(atoi(words[3]));
    if (inet_pton(AF_INET, words[2], &server.sin_addr) != 1) die("HOST is no IPv4 address");
    if (!strcmp(words[1], "send") && count == 11) {
        topic = words[4], queues = atoi(words[5]), size_bytes = atoi(words[8]), pipeline = atoi(words[9]), batch = atoi(words[10]);
        run_sends(atoi(words[6]), atol(words[7]));
    } else if (!strcmp(words[1], "drain") && count == 7) {
        topic = words[4], queues = atoi(words[5]);
        run_drain(atoi(words[6]));
    } else if (!strcmp(words[1], "idle")) {
        run_idle(atoi(words[4]));
    } else {
        die("unknown words");
    }
    return 0;
}
