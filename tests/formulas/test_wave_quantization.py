"""Tiles on SMs: the busiest one, idle ones, and shares of K tiles."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgemm_lab.formulas.wave_quantization import Product, max_tiles_per_sm, uses_stream_k
from sgemm_lab.simulator import formulas

LARGE = Product(4096, 4096, 4096, 128, 256, 8)

sides = st.integers(1, 3000)
products = st.builds(
    Product, sides, sides, sides, st.sampled_from([16, 64, 128]), st.sampled_from([16, 64, 256]),
    st.sampled_from([1, 8, 32]),
)  # fmt: skip
gpus = st.integers(1, 200)


def tile_distribution(*how: Any, **options: Any) -> SimpleNamespace:
    return SimpleNamespace(**formulas.tile_distribution(*how, **options))


def by_hand(product: Product, sms: int, stream_k: bool) -> list[int]:
    """What each SM gets, dealt one by one: K tiles of all its tiles."""
    tiles, k_tiles = product.tiles, product.k_tiles
    if stream_k:
        ends = [tiles * k_tiles * sm // sms for sm in range(sms + 1)]
        return [end - start for start, end in pairwise(ends)]
    loads = [0] * sms
    for tile in range(tiles):
        loads[tile % sms] += k_tiles
    return loads


def test_at_4096_the_last_wave_has_116_tiles() -> None:
    found = tile_distribution(LARGE, 132)
    assert (LARGE.tiles, LARGE.k_tiles) == (512, 512)
    assert (found.waves, found.last, found.idle, found.time) == (3, 116, 16, 4)
    assert found.used == found.useful == 512 / (4 * 132)
    stream_k = tile_distribution(LARGE, 132, stream_k=True)
    assert stream_k.time == 1986 / 512  # 1985.9 K tiles, rounded up
    assert stream_k.used == pytest.approx(1, abs=1e-4)


@settings(deadline=None)
@given(products, gpus, st.booleans())
def test_the_busiest_sm_sets_the_time(product: Product, sms: int, stream_k: bool) -> None:
    loads, found = by_hand(product, sms, stream_k), tile_distribution(product, sms, stream_k)
    k_tiles = product.tiles * product.k_tiles
    assert sum(loads) == k_tiles
    assert found.time * product.k_tiles == pytest.approx(max(loads))
    assert found.used == pytest.approx(k_tiles / (sms * max(loads)))
    assert found.waves * sms + found.last == product.tiles
    if not stream_k:
        assert found.idle == sum(load < max(loads) for load in loads)
    assert found.useful <= found.used <= 1
    made, room = product.m * product.n * product.k, product.bm * product.bn * product.bk
    assert found.useful == pytest.approx(found.used * made / (room * k_tiles))


@settings(deadline=None)
@given(products, gpus)
def test_even_shares_never_take_longer(product: Product, sms: int) -> None:
    assert (
        tile_distribution(product, sms, stream_k=True).time <= tile_distribution(product, sms).time
    )


def test_one_more_tile_than_sms_is_a_wave_of_its_own() -> None:
    assert [max_tiles_per_sm(tiles, 132) for tiles in (1, 132, 133, 264, 265)] == [1, 1, 2, 2, 3]


def test_tiles_are_shared_where_that_spares_each_sm_enough_windows() -> None:
    assert not uses_stream_k(128, 256, 132, 20)  # 4 tiles of 256 K tiles, shared by 132: under 8
    assert uses_stream_k(128, 661, 132, 20)
    assert not uses_stream_k(128, 660, 132, 20)
    assert uses_stream_k(133, 1, 132, 20)  # a second round would keep 131 SMs waiting


def test_what_lies_beyond_the_edge_of_c_is_not_useful() -> None:
    ragged = replace(LARGE, m=129, n=256)
    found = tile_distribution(ragged, 2)
    assert (ragged.tiles, found.used) == (2, 1)
    assert found.useful == pytest.approx(129 / 256)
