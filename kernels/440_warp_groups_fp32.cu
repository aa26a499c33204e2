// title: Warp groups, three products
// parent: warp_groups:BN=128
// change: Each product is three, the small ones first, and FP32 adds the sums of each window.
// chapter: 11
// grid: ceil(N / BN), ceil(M / BM)
// block: 2 * BM + PRODUCERS, 1
// shared: 4 * STAGES * 2 * BK * BN
// needs: sm_90a
// arithmetic: 3xtf32
//
// What is new in the two kernels of one warp, here for four: big and small parts, small products
// first, sums that begin anew with each window, and what comes out as NaN multiplied again.

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 128;  // columns of C per block
constexpr int BK = 32;   // width of the window along K
constexpr int STAGES = 4;  // windows of B in shared memory
constexpr int PRODUCERS = 128;          // threads that copy B
constexpr int THREADS = BM / 64 * 128;  // four warps, a warp group, multiply 64 rows
constexpr int STEPS = BK / 8;           // an instruction multiplies 8 k
constexpr int QUADS = BK / 4;           // a thread stores 4 k of a column of B at once

static_assert(BM == 128, "Registers are dealt to two warp groups of 64 rows: BM is 128.");
static_assert(BN == 128, "The instruction is written for 128 columns: BN is 128.");
static_assert(BK == 32, "Four lanes share a row of A, 8 k for each: BK is 32.");
static_assert(PRODUCERS == 128, "A producer copies each 128th column: PRODUCERS is 128.");

using Barrier = unsigned long long;

// x as two TF32 numbers: big is x, rounded to 11 significant bits, small is what is left. (A
// tensor core ignores a last bit of it.) Where x is infinite or NaN, small is NaN.
__device__ void split(float x, unsigned& big, unsigned& small)
{
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(big) : "f"(x));
    small = __float_as_uint(x - __uint_as_float(big));
}

// Four neighbours of a row of which `left` elements are left; zeros past its end.
__device__ float4 load4(const float* x, int left, bool aligned)
{
    if (aligned && left >= 4) return *reinterpret_cast<const float4*>(x);
    return make_float4(left > 0 ? x[0] : 0.0f, left > 1 ? x[1] : 0.0f,
                       left > 2 ? x[2] : 0.0f, left > 3 ? x[3] : 0.0f);
}

// Where in shared memory x is, as PTX counts it.
__device__ unsigned inShared(const void* x) { return unsigned(__cvta_generic_to_shared(x)); }

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

// Wait until a phase is complete. Phases are told apart by their last bit: 0, 1, 0, 1, ...
__device__ void waitFor(Barrier* barrier, int phase)
{
    asm volatile("{ .reg .pred over; again: mbarrier.try_wait.parity.shared.b64 over, [%0], %1;"
                 " @!over bra again; }" ::"r"(inShared(barrier)), "r"(phase) : "memory");
}

// Where in shared memory the instruction finds 8 k × 128 of B, in its own notation. 8 columns
// by 4 k are a piece of 128 bytes; the next columns' is behind it, the next k's BN * 16 on.
__device__ unsigned long long describe(const void* x)
{
    return (inShared(x) & 0x3FFFF) >> 4 | (unsigned long long)(BN * 16 >> 4) << 16 |
           (unsigned long long)(128 >> 4) << 32;
}

// Start to add 64 × 8 of A times 8 × 128 of B to 64 × 128 sums; where `add` is 0, to set them.
// Lane 4 * g + t of warp w has, of A, row 16 * w + g and the one 8 below, at k = t (a[0], a[1])
// and t + 4 (a[2], a[3]). Of these rows it has the sums of columns 8 * j + 2 * t and the next.
__device__ void startProducts(float (&d)[64], const unsigned (&a)[4], unsigned long long b,
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
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

// Before the first of these instructions: they take what the registers hold now.
__device__ void openGroup() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Behind the last of them.
__device__ void closeGroup() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Wait until all of them are done.
__device__ void waitForAll() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

extern "C" __global__ void __launch_bounds__(THREADS + PRODUCERS, 1)
    sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    // A ring of windows of B, big parts and small parts. Four k of a column stand together.
    extern __shared__ __align__(128) float shared[];
    auto& Bs = *reinterpret_cast<uint4(*)[STAGES][2][QUADS][BN]>(shared);
    __shared__ Barrier filled[STAGES], emptied[STAGES];  // a window is there; all have read it

    const int tid = threadIdx.x;
    const int blockCol = blockIdx.x * BN;
    if (tid < STAGES) {
        setUp(&filled[tid], PRODUCERS);
        setUp(&emptied[tid], THREADS);
    }
    __syncthreads();

    int now = 0, phase = 0;  // my window, and whether my round of the ring is even or odd
    if (tid >= THREADS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");  // copying needs fewer registers
        // My columns of B are 128 apart. Quad q of a column holds k = q, q + 8, q + 16 and
        // q + 24 of the window. What comes next waits in registers.
        float b[BN / 128][QUADS][4];
        const float* Bthread = B + blockCol + tid - THREADS;
        auto fetchB = [&](int k0) {
            for (int k = 0; k < BK; ++k) {
                for (int c = 0; c < BN / 128; ++c) {
                    const bool there = k0 + k < K && blockCol + tid - THREADS + 128 * c < N;
                    b[c][k % QUADS][k / QUADS] = there ? Bthread[128 * c] : 0.0f;
                }
                Bthread += N;
            }
        };
        fetchB(0);
        for (int k0 = 0; k0 < K; k0 += BK) {
            waitFor(&emptied[now], 1 - phase);  // at once on the first round
            for (int c = 0; c < BN / 128; ++c) {
                for (int q = 0; q < QUADS; ++q) {
                    uint4 big, small;
                    split(b[c][q][0], big.x, small.x);
                    split(b[c][q][1], big.y, small.y);
                    split(b[c][q][2], big.z, small.z);
                    split(b[c][q][3], big.w, small.w);
                    Bs[now][0][q][tid - THREADS + 128 * c] = big;
                    Bs[now][1][q][tid - THREADS + 128 * c] = small;
                }
            }
            // Tensor cores read shared memory by another way than threads: let them see this.
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            arrive(&filled[now]);
            fetchB(k0 + BK);
            now = now + 1 < STAGES ? now + 1 : 0;
            if (now == 0) phase = 1 - phase;
        }
        return;
    }

    asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");  // multiplying takes them
    const int g = tid % 32 / 4, t = tid % 4;              // my place in the warp, as above
    const int row = blockIdx.y * BM + tid / 32 * 16 + g;  // my row of C; the other is 8 below
    const bool alignedA = K % 4 == 0 && size_t(A) % 16 == 0;

    // A lane copies 8 neighbours of both rows. What the instruction calls k = t and t + 4 is in
    // step s k = 8 * t + 2 * s and the next: any order will do, if A and B keep to it.
    float4 a[2][2];
    auto fetchA = [&](int k0) {
        for (int r = 0; r < 2; ++r) {
            const int k = k0 + 8 * t;
            const int left = row + 8 * r < M ? K - k : 0;
            const float* from = A + size_t(row + 8 * r) * K + k;
            for (int h = 0; h < 2; ++h) a[r][h] = load4(from + 4 * h, left - 4 * h, alignedA);
        }
    };

    float acc[1][64] = {}, part[64];
    fetchA(0);
    for (int k0 = 0; k0 < K; k0 += BK) {
        unsigned big[STEPS][4], small[STEPS][4];
        for (int r = 0; r < 2; ++r) {
            for (int h = 0; h < 2; ++h) {
                split(a[r][h].x, big[2 * h][r], small[2 * h][r]);
                split(a[r][h].y, big[2 * h][2 + r], small[2 * h][2 + r]);
                split(a[r][h].z, big[2 * h + 1][r], small[2 * h + 1][r]);
                split(a[r][h].w, big[2 * h + 1][2 + r], small[2 * h + 1][2 + r]);
            }
        }
        fetchA(k0 + BK);
        waitFor(&filled[now], phase);
        openGroup();
        // Less is cut off a sum while it is small: so the small products come first.
        for (int s = 0; s < STEPS; ++s) {
            startProducts(part, small[s], describe(&Bs[now][0][2 * s][0]), s > 0);
            startProducts(part, big[s], describe(&Bs[now][1][2 * s][0]), 1);
        }
        for (int s = 0; s < STEPS; ++s) {
            startProducts(part, big[s], describe(&Bs[now][0][2 * s][0]), 1);
        }
        closeGroup();
        waitForAll();
        arrive(&emptied[now]);  // I have read this window
        for (int i = 0; i < 64; ++i) acc[0][i] += part[i];
        now = now + 1 < STAGES ? now + 1 : 0;
        if (now == 0) phase = 1 - phase;
    }

    const bool alignedC = N % 2 == 0 && size_t(C) % 8 == 0;
    bool again = false;
    for (int i = 0; i < BN / 2; i += 2) {
        const int r = row + i / 2 % 2 * 8, col = blockCol + i / 4 * 8 + 2 * t;
        float* to = C + size_t(r) * N + col;
        const float* sum = &acc[i / 64][i % 64];
        again |= sum[0] != sum[0] || sum[1] != sum[1];
        if (r >= M) continue;
        if (alignedC && col < N) {
            *reinterpret_cast<float2*>(to) = make_float2(sum[0], sum[1]);
        } else {
            if (col < N) to[0] = sum[0];
            if (col + 1 < N) to[1] = sum[1];
        }
    }
    // NaN of ours is multiplied again, by FP32 alone: it stays NaN where A and B lead to NaN.
    for (int i = 0; again && i < 64; ++i) {
        const int r = row + i / 2 % 2 * 8, col = blockCol + i / 4 * 8 + 2 * t + i % 2;
        float* to = &C[size_t(r) * N + col];
        if (r >= M || col >= N || *to == *to) continue;
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) sum += A[size_t(r) * K + k] * B[size_t(k) * N + col];
        *to = sum;
    }
}
