"""What is asked: each algorithm once, as a generator (a study) that asks queries and is told what they come to.

Imports numerics and errors. Begin reading at ``queries``: everything that can ever leave an organisation is on that
page. ``mpca`` is the study; ``sample`` and ``workers`` are how an answer is computed from streams, block by block.
"""
