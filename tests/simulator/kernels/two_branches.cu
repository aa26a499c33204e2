// Each half of the block fills its part of a tile, and the two halves meet at different lines.
extern "C" __global__ void k(float* C, int parts) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int turn = 0; turn < 3; ++turn) {
        if (t % parts < parts / 2) {
            tile[t] = C[t] + turn;
            __syncthreads();
            sum += tile[127 - t];
            FIRST_ONLY
        } else {
            tile[t] = 2.0f * C[t] + turn;
            __syncthreads();
            sum -= tile[127 - t];
        }
        LAST_BARRIER
    }
    C[t] = sum;
}
