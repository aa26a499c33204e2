// A warp group multiplies once; each test fills in the factors and what comes before the wait.
extern "C" __global__ void k(const unsigned* image, const unsigned* inLanes, float* D, int bytes,
                             unsigned aLow, unsigned aHigh, unsigned bLow, unsigned bHigh, int add)
{
    unsigned long long a_ = (unsigned long long)aHigh << 32 | aLow;
    unsigned long long b_ = (unsigned long long)bHigh << 32 | bLow;
    extern __shared__ __align__(1024) unsigned image_[];
    for (int i = threadIdx.x; i < bytes / 4; i += 128) image_[i] = image[i];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    unsigned long long start = (unsigned)__cvta_generic_to_shared(image_) >> 4;
    unsigned long long b = b_ + start;
    A_FACTOR;
    float d[N / 2];
    for (int i = 0; i < N / 2; ++i) d[i] = 1.0f;
    FENCE;
    PRODUCT;
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    BEFORE;
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < N / 2; ++i) D[threadIdx.x * (N / 2) + i] = d[i];
}
