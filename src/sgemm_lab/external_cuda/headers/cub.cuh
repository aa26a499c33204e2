// What a block and a warp do together. The rest of CUB launches kernels.
#pragma once
#define BlockScan UnguardedScan
#define BlockReduce UnguardedReduce
#define BlockRadixSort UnguardedRadixSort
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/thread/thread_operators.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#undef BlockScan
#undef BlockReduce
#undef BlockRadixSort

// CUB asks for a __syncthreads() before temporary storage is used again, also where the algorithm that it
// happens to choose needs none. So each warp writes a word of its own when a call begins and reads the
// one of another warp when it ends: without a barrier between two calls these race.
namespace cub {
template <int Threads>
struct LabMarks {
  unsigned words[(Threads + 31) / 32];
};

template <int X, int Y, int Z>
struct LabCall {
  static constexpr int warps = (X * Y * Z + 31) / 32;
  volatile unsigned* words;
  int thread;
  __device__ LabCall(unsigned* all) : words(all), thread((threadIdx.z * Y + threadIdx.y) * X + threadIdx.x) {
    if (warps > 1 && words && thread % 32 == 0) words[thread / 32] = 0;
  }
  __device__ ~LabCall() {
    if (warps > 1 && words && thread % 32 == 0) (void)words[(thread / 32 + 1) % warps];
  }
};

#define LAB_GUARDED(call)                                \
  template <typename... Given>                           \
  __device__ auto call(Given&&... given) {               \
    LabCall<X, Y, Z> guard(words);                       \
    return Base::call(static_cast<Given&&>(given)...);   \
  }
#define LAB_GUARDED_CLASS(name)                                                   \
  struct TempStorage : Base::TempStorage, LabMarks<X * Y * Z> {};                 \
  unsigned* words;                                                                \
  __device__ name() : words(nullptr) {}                                           \
  __device__ name(TempStorage& storage) : Base(storage), words(storage.words) {}

template <typename T, int X, BlockScanAlgorithm A = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
struct BlockScan : UnguardedScan<T, X, A, Y, Z> {
  using Base = UnguardedScan<T, X, A, Y, Z>;
  LAB_GUARDED_CLASS(BlockScan)
  LAB_GUARDED(ExclusiveSum)
  LAB_GUARDED(InclusiveSum)
  LAB_GUARDED(ExclusiveScan)
  LAB_GUARDED(InclusiveScan)
};

template <typename T, int X, BlockReduceAlgorithm A = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
struct BlockReduce : UnguardedReduce<T, X, A, Y, Z> {
  using Base = UnguardedReduce<T, X, A, Y, Z>;
  LAB_GUARDED_CLASS(BlockReduce)
  LAB_GUARDED(Sum)
  LAB_GUARDED(Reduce)
};

template <typename K, int X, int N, typename V = NullType, int B = 4, bool M = true,
          BlockScanAlgorithm A = BLOCK_SCAN_WARP_SCANS,
          cudaSharedMemConfig C = cudaSharedMemBankSizeFourByte, int Y = 1, int Z = 1, int = 0>
struct BlockRadixSort : UnguardedRadixSort<K, X, N, V, B, M, A, C, Y, Z> {
  using Base = UnguardedRadixSort<K, X, N, V, B, M, A, C, Y, Z>;
  LAB_GUARDED_CLASS(BlockRadixSort)
  LAB_GUARDED(Sort)
  LAB_GUARDED(SortDescending)
  LAB_GUARDED(SortBlockedToStriped)
  LAB_GUARDED(SortDescendingBlockedToStriped)
};
#undef LAB_GUARDED
#undef LAB_GUARDED_CLASS

#if CUB_VERSION >= 300000  // names that CUB 3 has no longer
using Sum = ::cuda::std::plus<>;
using Max = ::cuda::maximum<>;
using Min = ::cuda::minimum<>;
using Equality = ::cuda::std::equal_to<>;
using Inequality = ::cuda::std::not_equal_to<>;
#endif
}  // namespace cub
