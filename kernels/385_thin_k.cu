// title: Thin K
// parent: naive
// change: A thread makes 16 elements, and nothing is kept in shared memory: K has no K tiles.
// chapter: 11
// grid: ceil(M / BM) * ceil(N / BN), 1
// block: BN / 4, BM / TM
//
// Where K is 1, or a few, no number of A or B is used often, and C is the largest matrix: to store it
// is all the work. So the threads need no K tiles and no barriers, only wide stores.

constexpr int BM = 16;   // rows of C per block
constexpr int BN = 128;  // columns of C per block
constexpr int TM = 4;    // rows of C per thread, four columns of each
constexpr int LANES = BN / 4;  // threads that share a row of C

static_assert(BM % TM == 0, "Threads have whole rows: TM must divide BM.");
static_assert(BN % 4 == 0, "A thread has four columns: BN must be a multiple of 4.");
static_assert(BM / TM * LANES <= 1024, "A block has at most 1024 threads: make TM larger.");

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int lane = threadIdx.x, blocksN = (N + BN - 1) / BN;
    const int row = blockIdx.x / blocksN * BM + threadIdx.y * TM;  // my first
    // Four neighbours as one float4; or columns LANES apart, so that lanes are neighbours.
    const bool aligned = N % 4 == 0 && size_t(B) % 16 == 0 && size_t(C) % 16 == 0;
    const int step = aligned ? 1 : LANES;
    const int col = blockIdx.x % blocksN * BN + (aligned ? lane * 4 : lane);  // my first
    const bool wide = aligned && col < N;

    float acc[TM][4] = {};
    for (int k = 0; k < K; ++k) {
        const float* from = B + size_t(k) * N + col;
        float b[4] = {};
        if (wide) *reinterpret_cast<float4*>(b) = *reinterpret_cast<const float4*>(from);
        for (int j = 0; !aligned && j < 4; ++j) {
            if (col + j * step < N) b[j] = from[j * step];
        }
        for (int i = 0; i < TM; ++i) {
            const float a = A[size_t(min(row + i, M - 1)) * K + k];  // for all lanes
            for (int j = 0; j < 4; ++j) acc[i][j] += a * b[j];
        }
    }

    for (int i = 0; i < TM && row + i < M; ++i) {
        float* to = C + size_t(row + i) * N + col;
        if (wide) {
            *reinterpret_cast<float4*>(to) =
                make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
        }
        for (int j = 0; !aligned && j < 4; ++j) {
            if (col + j * step < N) to[j * step] = acc[i][j];
        }
    }
}
