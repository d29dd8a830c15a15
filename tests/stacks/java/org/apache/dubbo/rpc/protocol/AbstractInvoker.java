package org.apache.dubbo.rpc.protocol;

import java.util.concurrent.CompletableFuture;

/** Stands where Dubbo stands on a stack; only the names are Dubbo's. */
public final class AbstractInvoker {
    private AbstractInvoker() {}

    public static Object invoke() throws Exception {
        return new CompletableFuture<Object>().get();
    }
}
