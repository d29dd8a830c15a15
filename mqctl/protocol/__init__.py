"""The sans-IO wire: frames, codes, requests, bodies and the fastjson dialect."""
