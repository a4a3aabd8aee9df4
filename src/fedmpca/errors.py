"""Every exception of the package on one page. A docstring says what its reader needs: what happened, what to do.

    FedMPCAError
    ├── DataError (also ValueError)            something given cannot be used: data, a parameter, a file of data
    ├── MissingExtraError (also ImportError)   an optional library is needed and absent
    ├── ModelFileError                         a saved model cannot be read
    ├── AgreementError                         an agreement cannot be used, or a fleet does not meet it
    ├── RefusedError                           a member declines to answer; its code says which of its rules
    ├── TooFewMembersError                     a member was silent for longer than was agreed
    └── ProtocolError                          a party did, or seemed to do, what the protocol forbids

An unfitted estimator raises scikit-learn's ``NotFittedError``; ``NotConvergedWarning`` is scikit-learn's
``ConvergenceWarning``. Both can be imported from here. No message ever carries data beyond the one value it names.
"""

from sklearn.exceptions import ConvergenceWarning as NotConvergedWarning
from sklearn.exceptions import NotFittedError

__all__ = [
    "AgreementError",
    "DataError",
    "FedMPCAError",
    "MissingExtraError",
    "ModelFileError",
    "NotConvergedWarning",
    "NotFittedError",
    "ProtocolError",
    "RefusedError",
    "TooFewMembersError",
]


class FedMPCAError(Exception):
    """Anything this package refuses to do. Catch this to catch all of it."""


class DataError(FedMPCAError, ValueError):
    """Something given cannot be used. The message names the value, where it stands, and the way out."""


class MissingExtraError(FedMPCAError, ImportError):
    """An optional library is needed. The message has the line that installs it."""


class ModelFileError(FedMPCAError):
    """A saved model cannot be read: damaged, cut short, or written by something else. The message names the file."""


class AgreementError(FedMPCAError, ValueError):
    """An agreement cannot be used, or a fleet does not meet it. The message, at home, has both values."""


class RefusedError(FedMPCAError):
    """A member declines to answer. What travels is a fixed code; the whole reason is read at home."""


class TooFewMembersError(FedMPCAError):
    """A member was silent for longer than was agreed. The session has ended; nothing was summed over the others."""


class ProtocolError(FedMPCAError):
    """A message is not what the protocol allows. The session has ended; the message says who, when and where."""
