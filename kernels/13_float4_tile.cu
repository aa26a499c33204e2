// title: float4 in the tile
// parent: transposed
// chapter: 6
// grid: ceil(N / BN), ceil(M / BM)
// block: BM * BN / (TM * TN), 1
//
// Windows come from global memory as float4, every lane at work; fragments come from shared memory
// as float4; and rows of C leave as float4.

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 128;  // columns of C per block
constexpr int BK = 8;    // width of the window along K
constexpr int TM = 8;    // rows of C per thread
constexpr int TN = 8;    // columns of C per thread
constexpr int THREADS = BM * BN / (TM * TN);
constexpr int LOADS_A = BM * BK / 4 / THREADS;  // float4 of A that a thread copies per window
constexpr int LOADS_B = BK * BN / 4 / THREADS;  // float4 of B

static_assert(BM % TM == 0 && BN % TN == 0, "TM must divide BM, and TN must divide BN.");
static_assert(THREADS <= 1024, "A block has at most 1024 threads: make the tile smaller or TM larger.");
static_assert(LOADS_A * 4 * THREADS == BM * BK && LOADS_B * 4 * THREADS == BK * BN,
              "Each thread copies whole float4: 4 * THREADS must divide BM * BK and BK * BN.");
static_assert(BK % 4 == 0 && BN % 4 == 0 && TM % 4 == 0 && TN % 4 == 0,
              "BK, BN, TM and TN must be multiples of 4.");

// Four neighbours of a row of which `left` elements are left; zeros past its end. One load of 16
// bytes where it can be: a float4 load faults unless its address is a multiple of 16.
__device__ float4 load4(const float* x, int left, bool aligned)
{
    if (aligned && left >= 4) return *reinterpret_cast<const float4*>(x);
    return make_float4(left > 0 ? x[0] : 0.0f, left > 1 ? x[1] : 0.0f,
                       left > 2 ? x[2] : 0.0f, left > 3 ? x[3] : 0.0f);
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

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float As[BK][BM];  // the window's k × rows of A: transposed
    __shared__ __align__(16) float Bs[BK][BN];  // the window's k × columns of B

    const int tid = threadIdx.x;
    const int tx = tid % (BN / TN);  // my group of TN columns
    const int ty = tid / (BN / TN);  // my group of TM rows
    const int blockRow = blockIdx.y * BM;
    const int blockCol = blockIdx.x * BN;

    // My block's rows of A and columns of B. They move along K with the window.
    const float* Ablock = A + size_t(blockRow) * K;
    const float* Bblock = B + blockCol;
    const bool alignedA = K % 4 == 0 && size_t(A) % 16 == 0;
    const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;
    const bool alignedC = N % 4 == 0 && size_t(C) % 16 == 0;

    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // All loads are asked for before the first is waited for.
        float4 vA[LOADS_A], vB[LOADS_B];
        for (int l = 0; l < LOADS_A; ++l) {
            const int r = (l * THREADS + tid) / (BK / 4);
            const int k = (l * THREADS + tid) % (BK / 4) * 4;
            vA[l] = load4(&Ablock[r * K + k], blockRow + r < M ? K - k0 - k : 0, alignedA);
        }
        for (int l = 0; l < LOADS_B; ++l) {
            const int k = (l * THREADS + tid) / (BN / 4);
            const int c = (l * THREADS + tid) % (BN / 4) * 4;
            vB[l] = load4(&Bblock[k * N + c], k0 + k < K ? N - blockCol - c : 0, alignedB);
        }
        Ablock += BK;
        Bblock += size_t(BK) * N;
        for (int l = 0; l < LOADS_A; ++l) {
            const int r = (l * THREADS + tid) / (BK / 4);
            const int k = (l * THREADS + tid) % (BK / 4) * 4;
            As[k + 0][r] = vA[l].x;
            As[k + 1][r] = vA[l].y;
            As[k + 2][r] = vA[l].z;
            As[k + 3][r] = vA[l].w;
        }
        for (int l = 0; l < LOADS_B; ++l) {
            const int k = (l * THREADS + tid) / (BN / 4);
            const int c = (l * THREADS + tid) % (BN / 4) * 4;
            *reinterpret_cast<float4*>(&Bs[k][c]) = vB[l];
        }
        __syncthreads();  // no one reads the window before all of it is there

        for (int k = 0; k < BK; ++k) {
            __align__(16) float fragA[TM];  // this k's column of my rows
            __align__(16) float fragB[TN];  // this k's row of my columns
            for (int i = 0; i < TM; i += 4) {
                *reinterpret_cast<float4*>(&fragA[i]) =
                    *reinterpret_cast<const float4*>(&As[k][ty * TM + i]);
            }
            for (int j = 0; j < TN; j += 4) {
                *reinterpret_cast<float4*>(&fragB[j]) =
                    *reinterpret_cast<const float4*>(&Bs[k][tx * TN + j]);
            }
            for (int i = 0; i < TM; ++i) {
                for (int j = 0; j < TN; ++j) {
                    acc[i][j] += fragA[i] * fragB[j];
                }
            }
        }
        __syncthreads();  // no one overwrites the window before all have read it
    }

    for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; j += 4) {
            const int row = blockRow + ty * TM + i;
            const int col = blockCol + tx * TN + j;
            const float4 v = make_float4(acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]);
            store4(&C[size_t(row) * N + col], v, row < M ? N - col : 0, alignedC);
        }
    }
}
