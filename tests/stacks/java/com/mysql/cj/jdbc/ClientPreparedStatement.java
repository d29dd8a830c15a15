package com.mysql.cj.jdbc;

import com.mysql.cj.protocol.ReadAheadInputStream;
import java.io.IOException;
import java.io.InputStream;

/** Stands where the MySQL driver stands on a stack; only the names are the driver's. */
public final class ClientPreparedStatement {
    private ClientPreparedStatement() {}

    public static int executeQuery(InputStream in) throws IOException {
        return ReadAheadInputStream.fill(in);
    }
}
