#include <cstdio>
#include <vector>
__global__ void add(cudaPitchedPtr a, cudaPitchedPtr b, int nx, int ny) {
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    if (x >= nx || y >= ny) return;
    auto row = [&](cudaPitchedPtr p) { return (float*)((char*)p.ptr + (z * p.ysize + y) * p.pitch); };
    row(b)[x] += 2 * row(a)[x];
}
int main() {
    const int nx = 13, ny = 6, nz = 5;
    std::vector<float> h(nx * ny * nz), got(h.size());
    for (size_t i = 0; i < h.size(); i++) h[i] = i;
    cudaPitchedPtr a, b;
    cudaExtent all = make_cudaExtent(nx * sizeof(float), ny, nz);
    if (cudaMalloc3D(&a, all) != cudaSuccess || cudaMalloc3D(&b, all) != cudaSuccess) return 2;
    cudaMemcpy3DParms up = {}, down = {};
    up.srcPtr = make_cudaPitchedPtr(h.data(), nx * sizeof(float), nx, ny);
    up.dstPtr = a;
    up.extent = all;
    up.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&up);
    cudaMemset3D(b, 0, all);
    add<<<nz, dim3(16, 8)>>>(a, b, nx, ny);
    down.srcPtr = b;
    down.dstPtr = make_cudaPitchedPtr(got.data(), nx * sizeof(float), nx, ny);
    down.extent = all;
    down.kind = cudaMemcpyDeviceToHost;
    cudaMemcpy3D(&down);
    int bad = 0;
    for (size_t i = 0; i < h.size(); i++) bad += got[i] != 2 * h[i];
    printf("%d bad\n", bad);
    return bad != 0;
}
