"""A batch job: counts primes for a number of seconds, politely."""

import sys
import time


def primes(start: int, count: int) -> int:
    """Return how many of `start` .. `start + count - 1` are prime."""
    return sum(_is_prime(number) for number in range(start, start + count))


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % each for each in range(2, int(number**0.5) + 1))


def main(argv: list[str]) -> int:
    """Count for `argv[0]` seconds and print the result."""
    deadline = time.monotonic() + float(argv[0] if argv else "5")
    found, upto = 0, 0
    while time.monotonic() < deadline:
        found += primes(upto, 500)
        upto += 500
        time.sleep(0.1)
    print(f"{found} primes below {upto}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
