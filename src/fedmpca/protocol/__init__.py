"""Who tells what to whom, and when is that refused? State machines that take bytes and give bytes.

No sockets, files, clocks or threads: time and entropy are passed in, and what has to be computed from streams is
handed out as work. Imports crypto, studies, fleets, numerics and errors. Begin reading at ``agreement`` (what
everybody holds), then ``messages`` (what is on the wire), ``coordinator`` and ``member`` (the two machines); ``sums``
and ``chain`` are the ways of joining, one file each; ``enrolment`` compares a fleet with the agreement,
``disclosures`` keeps the record.
"""
