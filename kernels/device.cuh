// Device functions that the kernels from chapter 9 on share. A line #include "device.cuh" in a
// kernel stands for those of them that it uses and does not define itself, in this order.

using Barrier = unsigned long long;  // an mbarrier: it counts arrivals, phase after phase

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

// Let `count` arrivals complete a phase of a barrier.
__device__ void setUp(Barrier* barrier, int count)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(inShared(barrier)), "r"(count));
}

// Arrive now.
__device__ void arrive(Barrier* barrier)
{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(inShared(barrier)) : "memory");
}

// Arrive as soon as all copies that this thread has started are there.
__device__ void arriveWhenCopied(Barrier* barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(inShared(barrier)));
}

// Wait until a phase is complete. Phases are told apart by their last bit: 0, 1, 0, 1, ...
__device__ void waitFor(Barrier* barrier, int phase)
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

// Tensor cores read shared memory by another way than threads: let them see what is there. This
// waits for all loads and copies that the thread itself has started. So it is for those who
// multiply: the others start them ahead.
__device__ void letTensorCoresSee()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Where the instruction finds 8 k × 128 rows of A, in its own notation: 8 rows of 128 bytes are
// a piece. In row r quad q stands at place q ^ r % 8: so that a quad of all 8 rows, which is
// read at once, lies in different banks.
__device__ unsigned long long describe(const void* x)
{
    return (inShared(x) & 0x3FFFF) >> 4 | 1ull << 16 |
           (unsigned long long)(1024 >> 4) << 32 | 1ull << 62;
}

// Start to add 64 × 8 of Bᵀ times 8 × 128 of Aᵀ to 64 × 128 sums; if `add` is 0, to set them.
// Lane 4 * g + t of warp w has of Bᵀ row 16 * w + g and the one 8 below, at k = t (b[0], b[1])
// and t + 4 (b[2], b[3]). Of these rows it has the sums of columns 8 * j + 2 * t and the next.
__device__ void startProducts(float (&d)[64], const unsigned (&b)[4], unsigned long long a,
                              int add)
{
    asm volatile(
        "{ .reg .pred add; setp.ne.b32 add, %69, 0; "
        "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "{%64, %65, %66, %67}, %68, add, 1, 1; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]),
          "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
          "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
          "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
          "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
          "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
          "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]),
          "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
          "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]),
          "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]),
          "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
        : "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "l"(a), "r"(add));
}

// Before the first of these instructions: they take what the registers hold now.
__device__ void openGroup() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
