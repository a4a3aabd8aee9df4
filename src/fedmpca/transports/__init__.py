"""How do messages travel between the parties? One file a way; the protocol does not know which.

Imports protocol, studies and errors. ``local`` is the embedded one: all parties in one process, with faults on request.
"""
