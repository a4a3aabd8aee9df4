"""What hiding costs: encode, mask and decode beside the bare AES stream, and sums over many members, in one run.

    python benchmarks/secure_sums.py

Printed are the protocol's goals beside what was found: the upper triangle of a 1024 x 1024 scatter hidden among 3, 10
and 100 members; a scatter of I = 128 among 10, 30 and 100 members, with the exponent of cost a member in the number
of members; the hello of 100 members.
"""

from __future__ import annotations

import secrets
import time
import tracemalloc

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from fedmpca.crypto.keys import Identity, SessionKey
from fedmpca.crypto.ring import decode, encode
from fedmpca.protocol.agreement import Agreement, write_agreement
from fedmpca.protocol.messages import NO_SESSION, Hello, seal_message
from fedmpca.protocol.session import Session
from fedmpca.protocol.sums import hide


def best(function, repeats: int = 5) -> float:
    """Milliseconds of the fastest run."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        found.append(time.perf_counter() - start)
    return 1e3 * min(found)


def aes(n_bytes: int) -> float:
    zeros, made = bytes(n_bytes), bytearray(n_bytes)
    return best(lambda: Cipher(algorithms.AES(bytes(32)), modes.CTR(bytes(16))).encryptor().update_into(zeros, made))


def hiding(entries: int, members: int, repeats: int = 5) -> tuple[float, float]:
    """Milliseconds of encoding, and of masking for so many members."""
    x = np.random.default_rng(0).normal(size=entries)
    others = {number: secrets.token_bytes(32) for number in range(1, members)}
    y = encode(x, 30, members)
    masking = best(lambda: hide(y, 0, others, bytes(32), 5, bytes(32)), repeats)
    return best(lambda: encode(x, 30, members)), masking


def hello(members: int) -> float:
    """Milliseconds that a member takes for everyone's hello and the shared secrets."""
    identities = [Identity.new(secrets.token_bytes) for _ in range(members)]
    names = {f"member-{number}": identity.public.hex() for number, identity in enumerate(identities)}
    text = write_agreement(coordinator=Identity.new(secrets.token_bytes).public.hex(), shape=(8, 8), members=names)
    agreement = Agreement.read(text)
    by_key = {identity.public: identity for identity in identities}
    keys = [SessionKey(secrets.token_bytes) for _ in identities]
    session = Session(agreement)
    hellos = []
    for number, key in enumerate(keys):
        body = Hello(agreement=agreement.hash, epoch=0, transcript=session.transcript, key=key.public)
        identity = by_key[agreement.key(number)]
        hellos.append(seal_message(body, sid=NO_SESSION, sender=number, round_=0, identity=identity))

    def join() -> None:
        met = Session(agreement)
        met.open(hellos)
        for other in met.keys[1:]:
            keys[0].shared_with(other)

    return best(join, 3)


def main() -> None:
    entries = 1024 * 1025 // 2
    stream = aes(16 * entries)
    rate = 16 * entries / stream / 1e6
    print(f"AES-256-CTR stream of {16 * entries / 1e6:.1f} MB: {stream:.2f} ms ({rate:.1f} GB/s)")
    y = encode(np.ones(entries), 30, 3)
    print(f"decode {entries} entries: {best(lambda: decode(y, 30)):.1f} ms (goal 49 to 69)")
    for members, goal in ((3, 26), (10, 42), (100, 300)):
        encoding, masking = hiding(entries, members, 3)
        share = masking / (stream * (members - 1))
        print(
            f"triangle of 1024 among {members}: encode {encoding:.1f} + mask {masking:.1f} = "
            f"{encoding + masking:.0f} ms (goal {goal}), masks {share:.2f} times their AES streams"
        )
    tracemalloc.start()
    x = np.ones(entries)
    tracemalloc.reset_peak()
    z = encode(x, 30, 100)
    hide(z, 0, {1: bytes(32), 2: bytes(32)}, bytes(32), 1, bytes(32))
    copies = (tracemalloc.get_traced_memory()[1] - x.nbytes) / z.nbytes
    tracemalloc.stop()
    print(f"copies of the ring vector in memory while it is encoded and masked: {copies:.2f} (goal 3)")
    sizes = np.array([10, 30, 100])
    costs = np.array([sum(hiding(128 * 129 // 2, int(n), 9)) for n in sizes])
    exponent = np.polyfit(np.log(sizes), np.log(costs), 1)[0]
    found = ", ".join(f"{n}: {cost:.2f} ms" for n, cost in zip(sizes, costs, strict=True))
    print(f"scatter of I = 128, cost a member among {found} (goal 5 at 100); exponent {exponent:.2f} (linear: 1)")
    print(f"hello of 100 members, a member: {hello(100):.0f} ms (goal 50)")


if __name__ == "__main__":
    main()
