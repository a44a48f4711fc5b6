"""Hooks of schemathesis: each made-up request comes from a client of its own, as through a proxy.

The server makes a client wait that has sent many wrong keys, and requests with wrong keys are made up on purpose.
"""

import itertools

import schemathesis

clients = itertools.count(1)


@schemathesis.hook
def before_call(context, case, kwargs):
    number = next(clients)
    address = f"198.18.{number >> 8 & 255}.{number & 255}"
    case.headers["X-Forwarded-For"] = address
