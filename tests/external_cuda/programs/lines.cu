#include <cstdio>
__global__ void count(const char *text, int n, int *found) {
    int stride = blockDim.x * gridDim.x, c = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) c += text[i] == 'a';
    if (c) atomicAdd(found, c);
}
int main() {
    char *text; int *found, h;
    cudaMalloc(&text, 5000);
    cudaMalloc(&found, sizeof(int));
    cudaMemset(text, 'a', 5000);
    cudaMemset(found, 0, sizeof(int));
    count<<<4, 128>>>(text, 5000, found);
    cudaMemcpy(&h, found, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d letters (expected 5000)\n", h);
}
