#include <cstdio>
__global__ void scale(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
int main() {
    const int n = 1000;
    float *h = new float[n], *r = new float[n];
    for (int i = 0; i < n; i++) h[i] = i;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
    scale<<<(n + 127) / 128, 128>>>(x, y, n);
    cudaMemcpy(r, y, n * sizeof(float), cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < n; i++) bad += r[i] != 2 * h[i];
    printf("%d bad\n", bad);
    return bad != 0;
}
