"""The compiled engine, run by wasmtime."""

import time
from pathlib import Path
from typing import Any

from engine.client import Progress


class WasmCore:
    """One instance of the engine. After a refusal, which ends a call midway, it starts afresh."""

    def __init__(self, path: Path) -> None:
        import wasmtime  # costs a reader of records and pages nothing

        self._wasmtime = wasmtime
        self._engine = wasmtime.Engine()
        self._module = wasmtime.Module.from_file(self._engine, str(path))
        self._progress: Progress | None = None
        self._store: Any = None
        self._exports: Any = None

    def call(self, data: bytes, progress: Progress | None) -> bytes:
        """Carry out a launch, and return what it did."""
        self._progress = progress
        if self._store is None:
            self._start()
        store, exports = self._store, self._exports
        place = exports["allocate"](store, len(data))
        exports["memory"].write(store, data, place)
        try:
            exports["simulate"](store, place, len(data))
        except self._wasmtime.Trap:
            if not exports["result_size"](store):
                raise
            self._store = None
        except BaseException:
            self._store = None
            raise
        start, size = exports["result"](store), exports["result_size"](store)
        return bytes(exports["memory"].read(store, start, start + size))

    def _start(self) -> None:
        wasmtime = self._wasmtime
        store, linker = wasmtime.Store(self._engine), wasmtime.Linker(self._engine)
        store.set_wasi(wasmtime.WasiConfig())
        linker.define_wasi()
        f64, i32 = wasmtime.ValType.f64(), wasmtime.ValType.i32()
        linker.define_func("client", "clock", wasmtime.FuncType([], [f64]), time.monotonic)
        linker.define_func("client", "progress", wasmtime.FuncType([i32, i32], []), self._told)
        self._exports = linker.instantiate(store, self._module).exports(store)
        self._exports["_initialize"](store)
        self._store = store

    def _told(self, done: int, every: int) -> None:
        if self._progress is not None:
            self._progress(done, every)
