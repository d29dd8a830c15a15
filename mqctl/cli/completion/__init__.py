"""Tab: answers, names, scripts and the cache behind them."""
