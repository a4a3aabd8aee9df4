"""How are numbers hidden, and who said what? An exact ring, mask streams, keys and hashes: bytes and integers.

Knows no tensors, no queries and no parties, and never imports `numpy.random`: secrets come from the `entropy` that the
caller passes in. Imports errors only. Begin reading at ``ring`` (why sums are exact), then ``masks`` and ``keys``.
"""
