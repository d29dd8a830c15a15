package redis.clients.jedis;

import java.io.IOException;
import java.io.InputStream;
import redis.clients.jedis.util.RedisInputStream;

/** Stands where Jedis stands on a stack; only the names are Jedis'. */
public final class Jedis {
    private Jedis() {}

    public static int get(InputStream in) throws IOException {
        return RedisInputStream.ensureFill(in);
    }
}
