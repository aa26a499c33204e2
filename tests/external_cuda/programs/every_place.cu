#include <cstdio>
struct Layer { int rows; float *weights; double scale; char mark; Layer *next; };
struct Model { Layer *first; int layers; };
struct Row { int n; Row *other; };
__device__ float *sums;
__constant__ Model model;
__device__ Row row;
__global__ void add(Model given, Layer *shared, float **swapped) {
    Layer *one = model.first;
    for (int i = 0; i < given.layers; i++, one = one->next)
        if (threadIdx.x < one->rows)
            sums[threadIdx.x] += one->scale * one->weights[threadIdx.x] + one->mark;
    sums[threadIdx.x] += shared->weights[threadIdx.x];
    if (threadIdx.x) return;
    shared->rows = one == 0 && given.first == model.first;
    shared->next = given.first->next;
    row.other = &row;
    float *first = swapped[0];
    swapped[0] = swapped[1];
    swapped[1] = first;
}
__global__ void fill(float **swapped, float *to) {
    swapped[0][threadIdx.x] = 7;
    to[threadIdx.x] = row.other == &row;
}
int main() {
    const int n = 32;
    float h[n], *w[3], *total, **pair, *ends[2];
    for (float *&one : w) {
        for (int i = 0; i < n; i++) h[i] = i + (&one - w);
        cudaMalloc(&one, sizeof(h));
        cudaMemcpy(one, h, sizeof(h), cudaMemcpyHostToDevice);
    }
    Layer *layers, *shared;
    cudaMalloc(&layers, 2 * sizeof(Layer));
    Layer both[] = {{n, w[0], 2, 1, layers + 1}, {n, w[1], 3, 0, nullptr}};
    cudaMemcpy(layers, both, sizeof(both), cudaMemcpyHostToDevice);
    cudaMallocManaged(&shared, sizeof(Layer));
    *shared = {0, w[2], 1, 0, nullptr};
    cudaMalloc(&total, sizeof(h));
    cudaMemset(total, 0, sizeof(h));
    cudaMemcpyToSymbol(sums, &total, sizeof(total));
    Model made = {layers, 2};
    cudaMemcpyToSymbol(model, &made, sizeof(made));
    cudaMalloc(&pair, sizeof(ends));
    cudaMemcpy(pair, w, sizeof(ends), cudaMemcpyHostToDevice);
    add<<<1, n>>>(made, shared, pair);
    cudaMemcpy(h, total, sizeof(h), cudaMemcpyDeviceToHost);
    int bad = shared->rows != 1 || shared->next != layers + 1;
    for (int i = 0; i < n; i++) bad += h[i] != 2 * i + 1 + 3 * (i + 1) + i + 2;
    cudaMemcpy(ends, pair, sizeof(ends), cudaMemcpyDeviceToHost);
    bad += ends[0] != w[1] || ends[1] != w[0];
    fill<<<1, n>>>(pair, total);
    cudaMemcpy(h, ends[0], sizeof(h), cudaMemcpyDeviceToHost);
    for (float one : h) bad += one != 7;
    cudaMemcpy(h, total, sizeof(h), cudaMemcpyDeviceToHost);
    for (float one : h) bad += one != 1;
    printf("%d bad\n", bad);
    return bad;
}
