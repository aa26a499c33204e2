"""Tensor maps as the CUDA driver encodes them (driver API, ``cuTensorMapEncodeTiled``)."""

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np

from sgemm_lab.errors import LabError
from sgemm_lab.tensor_map import ALIGNMENT, MAP_BYTES, TensorMap

_TYPES = {"fp16": 6, "fp32": 7, "bf16": 9, "tf32": 11}
"""CUtensorMapDataType."""
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
"""CUtensorMapSwizzle."""
_L2_PROMOTION_128B = 2
_MAP_ALIGNMENT = 64


@lru_cache(maxsize=4096)
def encoded(tensor_map: TensorMap, address: int) -> Any:
    """Return the parameter that a launch passes by value: a scalar of ``MAP_BYTES`` bytes.

    Where the address is not aligned, so that TMA cannot read the matrix, it is all zeros: a kernel
    must not use it then.
    """
    words = MAP_BYTES // 8
    spare = np.zeros(words + _MAP_ALIGNMENT // 8, "uint64")
    start = -spare.ctypes.data % _MAP_ALIGNMENT // 8
    parameter = spare[start : start + words]
    if address % ALIGNMENT:
        return np.void(parameter.tobytes())
    sizes = (ctypes.c_uint64 * 2)(tensor_map.columns, tensor_map.rows)
    pitch = (ctypes.c_uint64 * 1)(tensor_map.pitch_bytes)
    box = (ctypes.c_uint32 * 2)(tensor_map.box_columns, tensor_map.box_rows)
    steps = (ctypes.c_uint32 * 2)(1, 1)
    status = _driver().cuTensorMapEncodeTiled(
        ctypes.c_void_p(parameter.ctypes.data), _TYPES[tensor_map.dtype], 2,
        ctypes.c_void_p(address), sizes, pitch, box, steps,
        0, _SWIZZLES[tensor_map.swizzle], _L2_PROMOTION_128B, 0,
    )  # fmt: skip
    if status:
        raise LabError(
            f"The CUDA driver refuses the tensor map '{tensor_map.name}' (error {status}). Its "
            f"matrix has {tensor_map.rows} × {tensor_map.columns} elements of "
            f"{tensor_map.element_bytes} bytes, rows of {tensor_map.pitch_bytes} bytes."
        )
    return np.void(parameter.tobytes())


@lru_cache(maxsize=1)
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")
