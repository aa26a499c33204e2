"""The verbs of a chapter. A page imports nothing else: ``from sgemm_lab import lab``.

On a GPU the verbs measure; without one they read the book's records, and say so. Each verb is
documented where it is defined.

Kernels
    ``kernel``, ``source``, ``mine`` (a kernel from text), ``show``, ``wgsl``, ``step``,
    ``machine_code``.
Check, count, measure
    ``check``, ``count``, ``measure``, ``speed``, ``compare``, ``exercise``, ``predict``,
    ``verdicts``, ``my_gpu``.
Bounds
    ``bound``, ``closing``, ``roofline``, ``wavefronts``,
    ``hardware`` (counters of a launch), ``request`` (cost of one load of a warp).
Figures
    ``figure`` of panels: ``one_element``, ``owns``, ``reads``, ``l1_queue``, ``copies``,
    ``copy_path``, ``copy_counts``, ``bank_clocks``, ``lane_columns``,
    ``half_warps``, ``product_order``, ``stage_ring``,
    ``issue_slots``, ``time_bars``, ``k_split``, ``formats``, ``fp16_scaling``,
    ``fragment_map``, ``swizzle``, ``multicast``, ``tiles_at_once``, ``tf32_split``,
    ``gpu_layout``, ``share_bars``, ``running_sums``, ``promoted_sums``; for ``frames``:
    ``cancellation_steps``, ``warp_group_steps``;
    ``machine_map``; plots: ``curves``, ``spread``, ``speed_over_error``,
    ``drawn_shapes``, ``other_libraries``;
    a table of what was ``tried``; ``no_difference`` of two speeds.
Widgets
    ``banks``, ``barrier_ring``, ``coalescing``, ``frames``,
    ``kernel_choice``, ``ladder``, ``latency_hiding``, ``occupancy``,
    ``scoreboard``, ``tile_waves``, ``timeline``, ``warp_group_turns``.
Products
    ``matmul``, ``choice``; Strassen's: ``strassen``, ``seven_products``, ``strassen_results``; on
    several GPUs: ``multi_gpu_results``, ``gpu_tiles``, ``gpu_timeline``,
    ``run_on_gpus``.
Records
    ``recorded``, ``card``, ``find_gpu``, ``agreement``, ``effects``, ``errors``,
    ``part`` (a kernel without some parts), ``power``, ``contributions``, ``library`` (cuBLAS),
    ``external_kernels``, ``public_bugs``, ``sanitizer``; ``each_gpu`` shows one thing for each
    recorded GPU.
Text
    ``say``, ``code``, ``table``, ``number``, ``bytes_text``, ``error_text``; ``written`` is what
    ``{value}`` applies (see :mod:`sgemm_lab.book.inline_values`).
"""

from sgemm_lab import choice
from sgemm_lab.external_cuda.prediction_accuracy import seen as external_kernels
from sgemm_lab.gpu import GPUS, Gpu, find_gpu
from sgemm_lab.lab.accuracy import contributions, errors, library
from sgemm_lab.lab.agreement import agreement
from sgemm_lab.lab.bound_table import bound
from sgemm_lab.lab.card import measured_card as card
from sgemm_lab.lab.check_and_count import check, count
from sgemm_lab.lab.closing import closing
from sgemm_lab.lab.comparison import compare
from sgemm_lab.lab.demand import wavefronts
from sgemm_lab.lab.dispatcher import (
    drawn_shapes,
    kernel_choice,
    matmul,
    other_libraries,
)
from sgemm_lab.lab.each_gpu import each_gpu
from sgemm_lab.lab.exercise import exercise, predict
from sgemm_lab.lab.hardware_counters import Hardware, hardware, issue_slots
from sgemm_lab.lab.kernel_parts import part, power
from sgemm_lab.lab.ladders import ladder
from sgemm_lab.lab.latency_hiding import latency_hiding, warp_group_turns
from sgemm_lab.lab.listing import show, wgsl
from sgemm_lab.lab.machine_code import machine_code
from sgemm_lab.lab.methods import effects
from sgemm_lab.lab.multi_gpu import (
    gpu_tiles,
    gpu_timeline,
    multi_gpu_results,
    run_on_gpus,
)
from sgemm_lab.lab.occupancy_calculator import occupancy
from sgemm_lab.lab.output import code, say, table, written
from sgemm_lab.lab.own_kernels import kernel, mine, source
from sgemm_lab.lab.pictures.bank_rows import swizzle
from sgemm_lab.lab.pictures.banks import bank_clocks, half_warps
from sgemm_lab.lab.pictures.bars import share_bars
from sgemm_lab.lab.pictures.cancellation import cancellation_steps
from sgemm_lab.lab.pictures.copy_paths import copy_counts, copy_path
from sgemm_lab.lab.pictures.copying import copies
from sgemm_lab.lab.pictures.formats import formats, fp16_scaling, tf32_split
from sgemm_lab.lab.pictures.fragment_map import fragment_map
from sgemm_lab.lab.pictures.frame import figure, frames
from sgemm_lab.lab.pictures.gpus import gpu_layout
from sgemm_lab.lab.pictures.l1_queue import l1_queue
from sgemm_lab.lab.pictures.lane_columns import lane_columns
from sgemm_lab.lab.pictures.machine_map import machine_map
from sgemm_lab.lab.pictures.matrices import reads
from sgemm_lab.lab.pictures.ownership import one_element, owns
from sgemm_lab.lab.pictures.product_order import product_order
from sgemm_lab.lab.pictures.running_sums import promoted_sums, running_sums
from sgemm_lab.lab.pictures.seven_products import seven_products
from sgemm_lab.lab.pictures.stream_k import k_split
from sgemm_lab.lab.pictures.tiles_at_once import tiles_at_once
from sgemm_lab.lab.pictures.time_bars import time_bars
from sgemm_lab.lab.pictures.warp_groups import multicast, warp_group_steps
from sgemm_lab.lab.public_bugs import public_bugs
from sgemm_lab.lab.recorded import Recorded, recorded
from sgemm_lab.lab.request_painters import Request, banks, coalescing, request
from sgemm_lab.lab.roofs import roofline
from sgemm_lab.lab.sample_picture import spread
from sgemm_lab.lab.sanitizer import sanitizer
from sgemm_lab.lab.scores import scoreboard
from sgemm_lab.lab.speed_error import speed_over_error
from sgemm_lab.lab.speeds import curves, measure, speed
from sgemm_lab.lab.stepper import step
from sgemm_lab.lab.strassen import strassen, strassen_results
from sgemm_lab.lab.tile_waves import tile_waves
from sgemm_lab.lab.timelines import barrier_ring, stage_ring, timeline
from sgemm_lab.lab.tried import no_difference, tried
from sgemm_lab.lab.verdicts import verdicts
from sgemm_lab.lab.your_gpu import my_gpu
from sgemm_lab.text import bytes_text, error_text, number

__all__ = ["GPUS", *(name for name, one in globals().items() if callable(one))]  # all verbs above
