#include <cstdio>
struct View { float *data; int n; };
__global__ void shift(View v, const float *x, float *y) {
    int i = threadIdx.x;
    if (i < v.n) y[i] = x[i];
    __syncthreads();
    if (i + 1 < v.n) v.data[i] = y[i + 1];
}
int main() {
    View v;
    float h[100], *x;
    for (int i = 0; i < 100; i++) h[i] = i;
    cudaMalloc(&x, sizeof(h));
    cudaMalloc(&v.data, sizeof(h));
    v.n = 100;
    cudaMemcpy(x, h, sizeof(h), cudaMemcpyHostToDevice);
    shift<<<1, 128>>>(v, x, x);
    cudaMemcpy(h, v.data, 99 * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f\n", h[5]);
}
