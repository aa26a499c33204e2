// Device functions that the kernels from chapter 9 on share. A line #include "device.cuh" in a
// kernel stands for those of them that it uses and does not define itself, in this order.

using Barrier = unsigned long long;  // an mbarrier: it counts arrivals, round after round

// Four neighbours of a row of which `left` elements are left; zeros past its end. One load of
// 16 bytes where it can be: a float4 load faults unless its address is a multiple of 16.
__device__ float4 load4(const float* x, int left, bool aligned)
{
    if (aligned && left >= 4) return *reinterpret_cast<const float4*>(x);
    return make_float4(left > 0 ? x[0] : 0.0f, left > 1 ? x[1] : 0.0f,
                       left > 2 ? x[2] : 0.0f, left > 3 ? x[3] : 0.0f);
}

// Four neighbours that no one will read again: L2 need not keep them.
__device__ float4 once4(const float* x) { return __ldcs(reinterpret_cast<const float4*>(x)); }

// Where in shared memory x is, as PTX counts it.
__device__ unsigned inShared(const void* x) { return unsigned(__cvta_generic_to_shared(x)); }

// Start to copy one float. Where there is none, a zero is stored and `from` is not read.
__device__ void copy4(float* to, const float* from, bool there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(inShared(to)), "l"(from),
                 "r"(there ? 4 : 0) : "memory");
}

// Start to copy four floats; both addresses are multiples of 16. Where there are none to copy,
// zeros are stored and `from` is not read.
__device__ void copy16(float* to, const float* from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(inShared(to)), "l"(from),
                 "r"(there ? 16 : 0) : "memory");
}

// Wait until all copies that this thread has started are there.
__device__ void waitForCopies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// The copies that this thread has started since the last call are one group.
__device__ void closeGroup() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Wait until all groups of this thread are there but the LEFT youngest.
template <int LEFT>
__device__ void waitForGroups()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

// Set up a barrier: `count` arrivals complete a round.
__device__ void mbarrierInit(Barrier* barrier, int count)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(inShared(barrier)), "r"(count));
}

// Arrive now.
__device__ void mbarrierArrive(Barrier* barrier)
{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(inShared(barrier)) : "memory");
}

// Arrive as soon as all copies that this thread has started have landed.
__device__ void cpAsyncMbarrierArrive(Barrier* barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(inShared(barrier)));
}

// Wait until a round is complete. Rounds are named by their parity: 0, 1, 0, 1, ... Of a new
// barrier round 1, the one before round 0, counts as complete. PTX calls a round a phase.
__device__ void mbarrierWait(Barrier* barrier, int phase)
{
    asm volatile("{ .reg .pred over; again: mbarrier.try_wait.parity.shared.b64 over, [%0], %1;"
                 " @!over bra again; }" ::"r"(inShared(barrier)), "r"(phase) : "memory");
}

// Store four neighbours of a row of which `left` elements are left.
__device__ void store4(float* x, float4 v, int left, bool aligned)
{
    if (aligned && left >= 4) {
        *reinterpret_cast<float4*>(x) = v;
        return;
    }
    if (left > 0) x[0] = v.x;
    if (left > 1) x[1] = v.y;
    if (left > 2) x[2] = v.z;
    if (left > 3) x[3] = v.w;
}

// Add four neighbours that another block has stored: read past L1, which may hold older ones.
__device__ float4 add4(float4 v, const float* x, int left, bool aligned)
{
    float w[4] = {};
    const float4* x4 = reinterpret_cast<const float4*>(x);
    if (aligned && left >= 4) *reinterpret_cast<float4*>(w) = __ldcg(x4);
    else for (int i = 0; i < 4 && i < left; ++i) w[i] = __ldcg(x + i);
    return make_float4(v.x + w[0], v.y + w[1], v.z + w[2], v.w + w[3]);
}

// Make what threads have written to shared memory visible to tensor cores and TMA: these use the
// async proxy, another path to memory than the threads' loads and stores.
__device__ void fenceProxyAsyncShared()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// A description of a matrix in global memory, by which TMA copies boxes of it. The driver makes it.
struct alignas(64) TensorMap { unsigned long long words[16]; };

// Arrive, and let the round wait for this many bytes of TMA copies too.
__device__ void mbarrierArriveExpectTx(Barrier* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(inShared(barrier)),
                 "r"(bytes) : "memory");
}

// Start to copy the box whose first element is in row y, column x. Its bytes count at the barrier.
// What is outside the matrix becomes zero.
__device__ void tmaLoad(void* to, const TensorMap& map, int x, int y, Barrier* barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(inShared(to)), "l"(&map), "r"(x), "r"(y),
                 "r"(inShared(barrier)) : "memory");
}

// The same, to the same place in all blocks of the cluster, and at the barrier of each. A copy to
// one block is a plain one.
__device__ void tmaLoadMulticast(void* to, const TensorMap& map, int x, int y, Barrier* barrier,
                                 int blocks)
{
    if (blocks == 1) {
        tmaLoad(to, map, x, y, barrier);
        return;
    }
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(inShared(to)),
                 "l"(&map), "r"(x), "r"(y), "r"(inShared(barrier)),
                 "h"((unsigned short)((1 << blocks) - 1)) : "memory");
}

// Start to store a box, a group of its own. Outside of the matrix nothing is stored.
__device__ void tmaStore(const void* from, const TensorMap& map, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3]; "
                 "cp.async.bulk.commit_group;" ::"l"(&map), "r"(x), "r"(y), "r"(inShared(from))
                 : "memory");
}

// Wait until at most the LEFT youngest stores of this thread still read shared memory.
template <int LEFT>
__device__ void tmaStoreWait()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}

// A barrier for the 128 threads of a warp group.
__device__ void warpGroupSync(int group)
{
    asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
}

// Arrive at the barrier at the same place in another block of the cluster.
__device__ void mbarrierArriveCluster(Barrier* barrier, int block)
{
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
                 "mbarrier.arrive.shared::cluster.b64 _, [there]; }" ::"r"(inShared(barrier)),
                 "r"(block) : "memory");
}

// My block's rank in its cluster.
__device__ int clusterCtaRank()
{
    int block;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(block));
    return block;
}

// Wait for all blocks of the cluster. Afterwards they can use barriers set up before.
__device__ void clusterSync()
{
    asm volatile("fence.mbarrier_init.release.cluster; barrier.cluster.arrive; "
                 "barrier.cluster.wait;" ::: "memory");
}

// Make what threads have written visible to TMA, in global memory too.
__device__ void fenceProxyAsync() { asm volatile("fence.proxy.async;" ::: "memory"); }

// Wait until all blocks of the grid are here. All run at once: there are no more than SMs. TMA
// sees then what they have stored. Each call in a kernel takes counters of its own.
__device__ void gridSync(unsigned* counters)
{
    fenceProxyAsync();
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(&counters[0], 1);
        while (atomicAdd(&counters[0], 0) < gridDim.x) {}
        if (atomicAdd(&counters[1], 1) == gridDim.x - 1) {  // the last: ready for the next time
            counters[1] = 0;
            __threadfence();
            counters[0] = 0;
        }
        __threadfence();
    }
    __syncthreads();
    fenceProxyAsync();
}

// The descriptor of a tile in shared memory. `groups`, the stride byte offset, is the distance of
// two groups of 8 rows. `parts`, the leading byte offset, is the distance of two parts of a tile
// that is wider than its swizzle. Kinds of swizzle: 1 is 128 bytes, 2 is 64.
__device__ unsigned long long matrixDescriptor(const void* tile, int groups, int parts, int swizzle)
{
    return (inShared(tile) & 0x3FFFF) >> 4 | (unsigned long long)(parts >> 4) << 16 |
           (unsigned long long)(groups >> 4) << 32 | (unsigned long long)swizzle << 62;
}

// Start to multiply 64 × 8 TF32 numbers in registers by 8 × 256 in shared memory and add to 64 × 256
// sums; if `add` is 0, the sums begin at zero. Lane 4 * g + t of warp w has, of the first factor, row
// 16 * w + g at k = t (a[0]) and t + 4 (a[2]), and the row 8 below (a[1], a[3]). In
// d[4 * j + 2 * h + i] it has the sum in row 16 * w + g + 8 * h, column 8 * j + 2 * t + i.
__device__ void wgmma64x256x8(float (&d)[128], const unsigned (&a)[4], unsigned long long b, int add)
{
    asm volatile(
        "{ .reg .pred add; setp.ne.b32 add, %133, 0; "
        "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
        "{%128, %129, %130, %131}, %132, add, 1, 1; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
          "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
          "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]),
          "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]),
          "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
          "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]),
          "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]),
          "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
          "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]),
          "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]),
          "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]),
          "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

// The same for 64 × 16 FP16 numbers by 16 × 256, both in shared memory: a row of the first factor
// and a row of the second are contiguous.
__device__ void wgmma64x256x16(float (&d)[128], unsigned long long a, unsigned long long b, int add)
{
    asm volatile(
        "{ .reg .pred add; setp.ne.b32 add, %130, 0; "
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
        "%128, %129, add, 1, 1, 0, 1; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
          "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
          "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]),
          "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]),
          "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
          "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]),
          "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]),
          "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
          "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]),
          "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]),
          "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]),
          "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
        : "l"(a), "l"(b), "r"(add));
}

// The same for 64 × 16 FP16 numbers by 16 × 128.
__device__ void wgmma64x128x16(float (&d)[64], unsigned long long a, unsigned long long b, int add)
{
    asm volatile(
        "{ .reg .pred add; setp.ne.b32 add, %66, 0; "
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, add, 1, 1, 0, 1; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
          "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
          "+f"(d[63])
        : "l"(a), "l"(b), "r"(add));
}

// Before the first wgmma of a group: makes earlier accesses to its registers visible to it.
__device__ void wgmmaFence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// After the last wgmma of a group: those since the last commit are one group.
__device__ void wgmmaCommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Wait until at most the LEFT youngest groups of wgmma are pending.
template <int LEFT>
__device__ void wgmmaWait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

// Store two neighbours of a row of which `left` elements are left.
__device__ void store2(float* x, float2 v, int left, bool aligned)
{
    if (aligned && left >= 2) {
        *reinterpret_cast<float2*>(x) = v;
        return;
    }
    if (left > 0) x[0] = v.x;
    if (left > 1) x[1] = v.y;
}

// Two floats as FP16, rounded to nearest, in one word.
__device__ unsigned halves(float low, float high)
{
    unsigned word;
    asm("{ .reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h}; }"
        : "=r"(word) : "f"(low), "f"(high));
    return word;
}

// Copy X, rows × columns, to rows of pitch numbers. All blocks of the grid share the work.
template <class T>
__device__ void copyPadded(const T* X, T* copy, int rows, int columns, int pitch)
{
    const size_t first = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    for (size_t i = first; i < size_t(rows) * columns; i += size_t(gridDim.x) * blockDim.x) {
        copy[i / columns * pitch + i % columns] = X[i];
    }
}
