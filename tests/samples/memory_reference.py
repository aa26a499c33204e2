"""The hardware's rules for memory requests once more, slowly and lane by lane."""


def slow_sectors(addresses: list[int | None], width: int) -> int:
    return len({(a + byte) // 32 for a in addresses if a is not None for byte in range(width)})


def slow_phase(addresses: list[int | None], width: int) -> int:
    banks: dict[int, set[int]] = {}
    for address in addresses:
        if address is not None:
            for word in range(address // 4, (address + max(width, 4)) // 4):
                banks.setdefault(word % 32, set()).add(word)
    return max((len(words) for words in banks.values()), default=0)


def slow_wavefronts(addresses: list[int | None], width: int, is_load: bool) -> int:
    if width <= 4:
        return slow_phase(addresses, width)
    lanes = 16 if width == 8 else 8
    phases = [addresses[start : start + lanes] for start in range(0, 32, lanes)]
    total = 0
    for first, second in zip(phases[::2], phases[1::2], strict=True):
        apart = slow_phase(first, width) + slow_phase(second, width)
        both = first + second
        agree = any(
            all(
                both[lane] is None
                or both[lane ^ distance] is None
                or both[lane] == both[lane ^ distance]
                for lane in range(len(both))
            )
            for distance in (1, 2)
        )
        total += min(apart, slow_phase(both, width)) if is_load and agree else apart
    return total
