"""OTLP in, durable before the acknowledgement, then converted into the lake; here stand sockets, files, threads and processes.

`bodies` and `checking` read one request, `journal` and `commit` make it durable, `intake` decides what is acknowledged, `http` and
`grpc` speak the two transports, `convert` moves the journal into the lake and `service` holds them together. A new transport is a
new module over `intake`; what a record means belongs to the dialects, when a turn is over to `assemble`.

`turnout serve` is three processes, so that more than one processor is at work: the receiver with the doors and the journal; below it the converter
(`converting`, which `apart` starts and speaks with over a `link`); below that the one that holds the lake (`lake_process`, asked through
`lakes`). Each ends soon after the one above it, and is started again by it; all hold the lock of the journal, so that whoever comes next waits until
the last is gone. A receiver inside another program converts on a thread (`in_thread`) unless told otherwise.
"""
