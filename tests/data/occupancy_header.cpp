// What NVIDIA's cuda_occupancy.h answers for GPUs that are not at hand. It wrote
// occupancy_header.json with the header of CUDA 13.0, and needs no GPU:
//   g++ -I $CUDA_HOME/include occupancy_header.cpp -o header && ./header > occupancy_header.json
// Rows: threads, registers, shared bytes, blocks (0: cannot run), and the blocks that warp slots,
// registers and shared memory have room for.

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cuda_occupancy.h>

struct Limits { int major, minor, threads, sharedKb; };

int main()
{
    const Limits all[] = {{7, 5, 1024, 64}, {8, 0, 2048, 164}, {8, 6, 1536, 100}, {8, 9, 1536, 100},
                          {9, 0, 2048, 228}, {10, 0, 2048, 228}, {12, 0, 1536, 100}};
    std::srand(1);
    std::printf("{\"cuda\":\"13.0\"");
    for (const Limits& limits : all) {
        const int reserved = limits.major >= 8 ? 1024 : 0;
        const int most = limits.sharedKb * 1024 - reserved;
        cudaOccDeviceProp device;
        device.computeMajor = limits.major;
        device.computeMinor = limits.minor;
        device.maxThreadsPerBlock = 1024;
        device.maxThreadsPerMultiprocessor = limits.threads;
        device.regsPerBlock = device.regsPerMultiprocessor = 65536;
        device.warpSize = 32;
        device.sharedMemPerBlock = 48 * 1024;
        device.sharedMemPerMultiprocessor = limits.sharedKb * 1024;
        device.numSms = 1;
        device.sharedMemPerBlockOptin = most;
        device.reservedSharedMemPerBlock = reserved;
        std::printf(",\n\"%d.%d\":[", limits.major, limits.minor);
        for (int i = 0; i < 400; ++i) {
            const int threads = i % 2 ? 32 * (1 + std::rand() % 32) : 1 + std::rand() % 1024;
            const int registers = i % 3 ? 1 + std::rand() % 64 : 1 + std::rand() % 255;
            const int blocks = 1 + std::rand() % 24;
            const int border = limits.sharedKb * 1024 / blocks / 128 * 128 - reserved;
            const int choices[] = {0, border, border + 1, std::rand() % (most + 1)};
            const int chosen = choices[std::rand() % 4];
            const int shared = chosen < most ? chosen : most;
            cudaOccFuncAttributes function = {};
            function.maxThreadsPerBlock = INT_MAX;
            function.numRegs = registers;
            function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
            function.maxDynamicSharedSizeBytes = most;
            function.numBlockBarriers = 1;
            cudaOccDeviceState state = {};
            cudaOccResult result = {};
            if (cudaOccMaxActiveBlocksPerMultiprocessor(
                    &result, &device, &function, &state, threads, shared)) return 1;
            const int room = result.blockLimitSharedMem;
            std::printf("%s[%d,%d,%d,%d,%d,%d,", i ? ",\n" : "\n", threads, registers, shared,
                result.activeBlocksPerMultiprocessor, result.blockLimitWarps, result.blockLimitRegs);
            if (room == INT_MAX) std::printf("null]"); else std::printf("%d]", room);
        }
        std::printf("]");
    }
    std::printf("}\n");
}
