"""OTLP in, durable before the acknowledgement, then converted into the lake; here stand sockets, files and threads.

`bodies` and `checking` read one request, `journal` and `commit` make it durable, `intake` decides what is acknowledged, `http` and
`grpc` speak the two transports, `convert` moves the journal into the lake and `service` holds them together. A new transport is a
new module over `intake`; what a record means belongs to the dialects, when a turn is over to `assemble`.
"""
