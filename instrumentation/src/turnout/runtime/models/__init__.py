"""Models of real providers over their own SDKs; each module needs its extra, and nothing else imports it.

A module translates: requests into the provider's, events into chunks, exceptions into `ModelError`. Retries are switched off in the
SDK, since only the seam may send.
"""
