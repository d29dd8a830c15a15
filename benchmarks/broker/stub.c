/* A broker that only says yes: what a client can send at most, when nothing else is in its way.
 *
 * stub                    listens on a free port of 127.0.0.1, prints it, answers every request that wants an answer
 *                         with SUCCESS and a fixed place, and ends when its input does
 *
 * One thread, poll, headers read as text: it looks for "opaque" and "flag" and for nothing else.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PEERS 1024
#define ROOM (32 << 20)

struct peer {
    char *data;
    size_t size;
};

static struct pollfd polls[PEERS];
static struct peer peers[PEERS];
static int count;
static char answers[ROOM];

static void die(const char *what) {
    fprintf(stderr, "stub: %s\n", what);
    exit(1);
}

static void drop(int at) {
    close(polls[at].fd);
    free(peers[at].data);
    polls[at] = polls[--count];
    peers[at] = peers[count];
}

static long number(const char *header, unsigned size, const char *name) {
    const char *found = memmem(header, size, name, strlen(name));
    return found ? strtol(found + strlen(name), NULL, 10) : 0;
}

static size_t answer(char *out, long opaque) {
    int head = sprintf(out + 8,
        "{\"code\":0,\"extFields\":{\"msgId\":\"7F00000100002A9F0000000000000000\",\"queueId\":\"0\","
        "\"queueOffset\":\"0\"},\"flag\":1,\"language\":\"JAVA\",\"opaque\":%ld,"
        "\"serializeTypeCurrentRPC\":\"JSON\",\"version\":409}", opaque);
    unsigned total = htonl(4 + head), mark = htonl(head);
    memcpy(out, &total, 4), memcpy(out + 4, &mark, 4);
    return 8 + head;
}

/* Reads what has come, answers every whole frame in one write; returns 0 when the peer has gone. */
static int serve(int at) {
    struct peer *peer = &peers[at];
    ssize_t n = read(polls[at].fd, peer->data + peer->size, ROOM - peer->size);
    if (n <= 0) return 0;
    peer->size += n;
    size_t from = 0, out = 0;
    while (peer->size - from >= 8) {
        unsigned total, head;
        memcpy(&total, peer->data + from, 4), memcpy(&head, peer->data + from + 4, 4);
        total = ntohl(total), head = ntohl(head) & 0xffffff;
        if (total > ROOM - 8 || head > total) return 0;
        if (peer->size - from < 4 + (size_t)total) break;
        const char *header = peer->data + from + 8;
        if (!(number(header, head, "\"flag\":") & 2) && out < ROOM - 1024)
            out += answer(answers + out, number(header, head, "\"opaque\":"));
        from += 4 + total;
    }
    memmove(peer->data, peer->data + from, peer->size - from);
    peer->size -= from;
    for (size_t done = 0; done < out;) {
        n = write(polls[at].fd, answers + done, out - done);
        if (n <= 0) return 0;
        done += n;
    }
    return 1;
}

int main(void) {
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof own;
    int door = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (bind(door, (struct sockaddr *)&own, size) || listen(door, 128)) die("cannot listen");
    getsockname(door, (struct sockaddr *)&own, &size);
    printf("%d\n", ntohs(own.sin_port));
    fflush(stdout);
    polls[0] = (struct pollfd){.fd = 0, .events = POLLIN};
    polls[1] = (struct pollfd){.fd = door, .events = POLLIN};
    count = 2;
    for (;;) {
        if (poll(polls, count, -1) < 0) die("cannot poll");
        if (polls[0].revents) return 0;
        for (int at = count - 1; at > 1; at--)
            if (polls[at].revents && !serve(at)) drop(at);
        if (polls[1].revents && count < PEERS) {
            int fd = accept(door, NULL, NULL);
            if (fd < 0) continue;
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
            polls[count] = (struct pollfd){.fd = fd, .events = POLLIN};
            peers[count++] = (struct peer){.data = malloc(ROOM)};
        }
    }
}
