package com.mysql.cj.protocol;

import java.io.IOException;
import java.io.InputStream;

/** Stands where the MySQL driver stands on a stack; only the names are the driver's. */
public final class ReadAheadInputStream {
    private ReadAheadInputStream() {}

    public static int fill(InputStream in) throws IOException {
        return in.read(new byte[16]);
    }
}
