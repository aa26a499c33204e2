
// The program around the kernel: launch it, compare it with double precision, and time it.

#define CUDA(call)                                                                        \
    if (cudaError_t error = (call)) {                                                     \
        std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(error));       \
        std::exit(2);                                                                     \
    }

namespace program {

double larger(double a, double b) { return a > b ? a : b; }
double smaller(double a, double b) { return a < b ? a : b; }

struct LaunchShape {
    double gridX, gridY, blockX, blockY, shared, workspace;  // shared, workspace: bytes
};

// M, N and K are double, so that "/" is exact until ceil rounds up.
LaunchShape launchShape(double M, double N, double K, double SMS)
{
    return {@GRID_X@,
            @GRID_Y@,
            double(@BLOCK_X@),
            double(@BLOCK_Y@),
            double(@SHARED@),
            double(@WORKSPACE@)};
}

// Fill an array with numbers in ±0.5, from a hash of the index.
__global__ void fill(float* x, size_t count, unsigned seed)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += gridDim.x * size_t(blockDim.x)) {
        unsigned h = unsigned(i) * 2654435761u + seed;
        h = (h ^ h >> 16) * 0x85ebca6bu;
        h = (h ^ h >> 13) * 0xc2b2ae35u;
        x[i] = (h ^ h >> 16) * 0x1p-32f - 0.5f;
    }
}

// Write to `worst` the largest error of C as a share of what this arithmetic may lose.
__global__ void compare(const float* A, const float* B, const float* C, int M, int N, int K,
                        float* worst)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = blockIdx.y; j < N && i < M; i += gridDim.y) {
        double sum = 0, absolute = 0, factors = 0;
        for (int k = 0; k < K; ++k) {
            const double a = A[size_t(i) * K + k], b = B[size_t(k) * N + j];
            sum += a * b;
            absolute += fabs(a * b);
            factors += fabs(a) + fabs(b);
        }
        const double allowed = (@FACTORS@ + K * @PER_K@) * 0x1p-24 * absolute
                               + @LEAST@ * factors + 1e-30;
        float error = float(fabs(C[size_t(i) * N + j] - sum) / allowed);
        if (!(error < 1e30f)) error = 1e30f;  // NaN: an element that was not written
        atomicMax(reinterpret_cast<int*>(worst), __float_as_int(error));  // both are positive
    }
}

@MAPS@// Multiply once at a size, compare, and with `timed` measure the speed. Return whether C is right.
bool run(int M, int N, int K, bool timed)
{
    int SMS = 0;
    CUDA(cudaDeviceGetAttribute(&SMS, cudaDevAttrMultiProcessorCount, 0));
    const LaunchShape shape = launchShape(M, N, K, SMS);
    if (shape.gridY > 65535) {
        std::fprintf(stderr, "%d rows are too many for one launch. Give a smaller M.\n", M);
        std::exit(2);
    }
    int sharedLimit = 0;
    CUDA(cudaDeviceGetAttribute(&sharedLimit, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    if (shape.shared > sharedLimit) {
        std::fprintf(stderr, "%d x %d x %d: a block wants %.0f bytes of shared memory, and this "
                     "GPU offers %d. Give a smaller K.\n", M, N, K, shape.shared, sharedLimit);
        std::exit(2);
    }
    const dim3 grid(unsigned(shape.gridX), unsigned(shape.gridY));
    const dim3 block(unsigned(shape.blockX), unsigned(shape.blockY));
    const size_t countA = size_t(M) * K, countB = size_t(K) * N, countC = size_t(M) * N;
    float *A, *B, *C, *worst;
    CUDA(cudaMalloc(&A, countA * sizeof(float)));
    CUDA(cudaMalloc(&B, countB * sizeof(float)));
    CUDA(cudaMalloc(&C, countC * sizeof(float)));
    CUDA(cudaMallocManaged(&worst, sizeof(float)));
    *worst = 0;
    fill<<<1024, 256>>>(A, countA, 1);
    fill<<<1024, 256>>>(B, countB, 2);
    CUDA(cudaMemset(C, 0xff, countC * sizeof(float)));  // NaN
    CUDA(cudaFuncSetAttribute(sgemm, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              int(shape.shared)));
@WORKSPACE_SETUP@@MAP_SETUP@    auto multiply = [&] { sgemm<<<grid, block, size_t(shape.shared)>>>(@ARGUMENTS@); };

    multiply();
    CUDA(cudaGetLastError());
    compare<<<dim3((N + 127) / 128, M < 4096 ? M : 4096), 128>>>(A, B, C, M, N, K, worst);
    CUDA(cudaDeviceSynchronize());
    const bool right = *worst <= 1;
    std::printf("%d x %d x %d: %s, largest error %.3g of the bound\n", M, N, K,
                right ? "right" : "WRONG", *worst);
    if (timed) {
        cudaEvent_t begin, end;
        CUDA(cudaEventCreate(&begin));
        CUDA(cudaEventCreate(&end));
        // Seconds of a launch, from `repeats` launches in a row.
        auto measure = [&](int repeats) {
            CUDA(cudaEventRecord(begin));
            for (int i = 0; i < repeats; ++i) multiply();
            CUDA(cudaEventRecord(end));
            CUDA(cudaEventSynchronize(end));
            float ms = 0;
            CUDA(cudaEventElapsedTime(&ms, begin, end));
            return ms / 1000.0 / repeats;
        };
        measure(3);
        const int repeats = int(larger(1, smaller(1000, 0.05 / measure(3))));
        std::vector<double> times;
        for (int i = 0; i < 11; ++i) times.push_back(measure(repeats));
        std::sort(times.begin(), times.end());
        std::printf("%d x %d x %d: %.0f GFLOP/s, median of %d samples\n", M, N, K,
                    2.0 * M * N * K / times[5] / 1e9, 11);
        CUDA(cudaEventDestroy(begin));
        CUDA(cudaEventDestroy(end));
    }
@WORKSPACE_FREE@    for (float* memory : {A, B, C, worst}) CUDA(cudaFree(memory));
    return right;
}

}  // namespace program

int main(int count, char** given)
{
    int size[3] = {@M@, @N@, @K@};
    if (count != 1 && count != 4) {
        std::fprintf(stderr, "usage: %s [M N K]\n", given[0]);
        return 2;
    }
    for (int i = 1; i < count; ++i) {
        size[i - 1] = std::atoi(given[i]);
        if (size[i - 1] < 1) {
            std::fprintf(stderr, "'%s' is not a size. Give M N K, each 1 or more.\n", given[i]);
            return 2;
        }
    }
    bool right = true;
    const int ragged[][3] = {{1, 1, 1}, {3, 5, 7}, {33, 31, 70}, {129, 130, 131}, {256, 256, 40}};
    for (auto& [M, N, K] : ragged) right &= program::run(M, N, K, false);
    right &= program::run(size[0], size[1], size[2], true);
    return right ? 0 : 1;
}
