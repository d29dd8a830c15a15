package redis.clients.jedis.util;

import java.io.IOException;
import java.io.InputStream;

/** Stands where Jedis stands on a stack; only the names are Jedis'. */
public final class RedisInputStream {
    private RedisInputStream() {}

    public static int ensureFill(InputStream in) throws IOException {
        return in.read(new byte[16]);
    }
}
