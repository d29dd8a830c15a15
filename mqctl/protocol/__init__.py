"""The sans-IO wire: frames, codes, requests, bodies and the fastjson dialect.

Bytes become commands and commands bytes without a socket in sight; client, embedded broker and tests drive the same
objects.

* `frame`: `FrameDecoder().feed(data)` gives `RemotingCommand`s, `encode(command)` their bytes; JSON or binary headers.
* `codes`: `RequestCode`, `ResponseCode`, `Language`, version ordinals and their names.
* `requests`: `read_request(command)` gives a declared `Request` (`requests_client.PullMessage`, ...), and
  `request.command(opaque=1)` goes the other way; `command.answer(code, ext_fields=Reply(...).to_ext(), body=...)` is
  the response. `HeaderFieldError` and `UnknownRequestError` carry the remark that a real broker answers.
* `bodies`: typed bodies with `from_bytes` and `to_bytes`; `fastjson` is the dialect below them.
* `message_record`, `message_batch`, `properties`, `message_id`, `compression`, `acl`: what travels inside frames.
"""
