"""What a user holds: scikit-learn estimators that run the studies and keep what they learn.

Imports fleets, studies and numerics. Begin reading at ``mpca``; ``inputs`` says what may be given to `fit`.
"""
