// Each thread goes through a list of steps, all threads side by side: what to do, and where.
enum { LOAD, STORE, LOAD_4, STORE_4, LOAD_BYTE, BLOCK, WARP, GROUP, ARRIVE };
extern "C" __global__ void k(const int* kinds, const int* places, int* C, int steps) {
    __shared__ __align__(16) int tile[32];
    int t = threadIdx.x, sum = 0;
    for (int step = 0; step < steps; ++step) {
        int kind = kinds[step], place = places[step * blockDim.x + t];
        if (kind == BLOCK) __syncthreads();
        else if (kind == WARP) __syncwarp();
#ifdef PARTS
        else if (kind == GROUP) {
            if (t < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
        } else if (kind == ARRIVE) {
            if (t < 32) asm volatile("bar.arrive 2, 64;" ::: "memory");
            else if (t < 64) asm volatile("bar.sync 2, 64;" ::: "memory");
        }
#endif
        else if (place >= 0) {
            volatile int* here = tile + place;
            int4* wide = reinterpret_cast<int4*>(tile) + place / 4;
            if (kind == LOAD) sum += *here;
            else if (kind == STORE) *here = t;
            else if (kind == LOAD_4) sum += wide->x + wide->w;
            else if (kind == STORE_4) *wide = make_int4(t, step, t, step);
#ifdef BYTES
            else sum += reinterpret_cast<volatile char*>(tile)[place];
#endif
        }
    }
    C[blockIdx.x * blockDim.x + t] = sum;
}
