#include <cstdio>
#define TRY(call) if ((call) != cudaSuccess) printf("%s\n", cudaGetErrorString(cudaGetLastError()))
struct Buffer {
    float *at;
    int size;
    explicit Buffer(int n) : at(nullptr), size(n) { TRY(cudaMalloc(&at, n * sizeof(float))); }
    void release() { TRY(cudaFree(at)); }
    __device__ bool has(int i) const { return i < size; }
};
__global__ void clear(Buffer b) {
    if (b.has(threadIdx.x)) b.at[threadIdx.x] = 0;
}
int main() {
    Buffer b(100);
    clear<<<1, 128>>>(b);
    b.release();
    clear<<<1, 128>>>(b);
}
