// The additions of Strassen's product. Each kernel is one pass over memory: what belongs to one
// place of all quadrants is read, added up in registers, and written.
//
// A matrix may be a part of a larger one: its rows are `stride` floats apart. Quadrants have
// halfRows × halfColumns elements, halfColumns a multiple of 4. Where the matrix ends before they
// do, it reads as zero, and nothing is written. Sums and products of the workspace are whole.

struct Matrix {
    float* data;
    long long stride;  // times a row number may be more than an int holds
    int rows, columns;  // that exist
};

__device__ Matrix quadrant(Matrix whole, int down, int right, int halfRows, int halfColumns) {
    const int firstRow = down * halfRows, firstColumn = right * halfColumns;
    return {whole.data + firstRow * whole.stride + firstColumn, whole.stride,
            whole.rows - firstRow, whole.columns - firstColumn};
}

// A float4 starts at a multiple of 16 bytes. In a matrix whose rows do not, floats go one by one.
__device__ bool takesVectors(Matrix m) {
    return m.stride % 4 == 0 && reinterpret_cast<size_t>(m.data) % sizeof(float4) == 0;
}

// Four neighbours of a row.
__device__ float4 load4(Matrix m, int row, int column, bool wanted) {
    float4 found = make_float4(0, 0, 0, 0);
    if (!wanted || row >= m.rows || column >= m.columns) return found;
    const float* from = m.data + row * m.stride + column;
    if (takesVectors(m) && column + 4 <= m.columns) return *reinterpret_cast<const float4*>(from);
    found.x = from[0];
    if (column + 1 < m.columns) found.y = from[1];
    if (column + 2 < m.columns) found.z = from[2];
    if (column + 3 < m.columns) found.w = from[3];
    return found;
}

__device__ void store4(Matrix m, int row, int column, float4 value) {
    if (row >= m.rows || column >= m.columns) return;
    float* to = m.data + row * m.stride + column;
    if (takesVectors(m) && column + 4 <= m.columns) {
        *reinterpret_cast<float4*>(to) = value;
        return;
    }
    to[0] = value.x;
    if (column + 1 < m.columns) to[1] = value.y;
    if (column + 2 < m.columns) to[2] = value.z;
    if (column + 3 < m.columns) to[3] = value.w;
}

__device__ float4 operator+(float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__device__ float4 operator-(float4 a, float4 b) {
    return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
}

// Neighbouring threads take neighbouring float4 of a row; then rows that are a grid apart.
__device__ int firstColumn() { return 4 * (blockIdx.x * blockDim.x + threadIdx.x); }
__device__ int firstRow() { return blockIdx.y * blockDim.y + threadIdx.y; }
__device__ int rowStep() { return gridDim.y * blockDim.y; }

// Of a matrix of the workspace, which is whole; where it is not asked for, it is a null pointer.
__device__ void storeIfAsked(float* to, size_t place, float4 value) {
    if (to) *reinterpret_cast<float4*>(to + place) = value;
}

extern "C" __global__ void left_factors(float* A, int stride, int rows, int columns,
                                        int halfRows, int halfColumns, float* A11, float* A12,
                                        float* A22, float* S1, float* S2, float* S3, float* S4) {
    const Matrix whole = {A, stride, rows, columns};
    const Matrix q11 = quadrant(whole, 0, 0, halfRows, halfColumns);
    const Matrix q12 = quadrant(whole, 0, 1, halfRows, halfColumns);
    const Matrix q21 = quadrant(whole, 1, 0, halfRows, halfColumns);
    const Matrix q22 = quadrant(whole, 1, 1, halfRows, halfColumns);
    const int column = firstColumn();
    if (column >= halfColumns) return;
    for (int row = firstRow(); row < halfRows; row += rowStep()) {
        const float4 a11 = load4(q11, row, column, A11 || S2 || S3 || S4);
        const float4 a12 = load4(q12, row, column, A12 || S4);
        const float4 a21 = load4(q21, row, column, S1 || S2 || S3 || S4);
        const float4 a22 = load4(q22, row, column, A22 || S1 || S2 || S4);
        const float4 s1 = a21 + a22;
        const float4 s2 = s1 - a11;
        const size_t place = size_t(row) * halfColumns + column;
        storeIfAsked(A11, place, a11);
        storeIfAsked(A12, place, a12);
        storeIfAsked(A22, place, a22);
        storeIfAsked(S1, place, s1);
        storeIfAsked(S2, place, s2);
        storeIfAsked(S3, place, a11 - a21);
        storeIfAsked(S4, place, a12 - s2);
    }
}

extern "C" __global__ void right_factors(float* B, int stride, int rows, int columns,
                                         int halfRows, int halfColumns, float* B11, float* B21,
                                         float* B22, float* T1, float* T2, float* T3, float* T4) {
    const Matrix whole = {B, stride, rows, columns};
    const Matrix q11 = quadrant(whole, 0, 0, halfRows, halfColumns);
    const Matrix q12 = quadrant(whole, 0, 1, halfRows, halfColumns);
    const Matrix q21 = quadrant(whole, 1, 0, halfRows, halfColumns);
    const Matrix q22 = quadrant(whole, 1, 1, halfRows, halfColumns);
    const int column = firstColumn();
    if (column >= halfColumns) return;
    for (int row = firstRow(); row < halfRows; row += rowStep()) {
        const float4 b11 = load4(q11, row, column, B11 || T1 || T2 || T4);
        const float4 b12 = load4(q12, row, column, T1 || T2 || T3 || T4);
        const float4 b21 = load4(q21, row, column, B21 || T4);
        const float4 b22 = load4(q22, row, column, B22 || T2 || T3 || T4);
        const float4 t1 = b12 - b11;
        const float4 t2 = b22 - t1;
        const size_t place = size_t(row) * halfColumns + column;
        storeIfAsked(B11, place, b11);
        storeIfAsked(B21, place, b21);
        storeIfAsked(B22, place, b22);
        storeIfAsked(T1, place, t1);
        storeIfAsked(T2, place, t2);
        storeIfAsked(T3, place, b22 - b12);
        storeIfAsked(T4, place, t2 - b21);
    }
}

// All of C from the seven products.
extern "C" __global__ void join(const float* P1, const float* P2, const float* P3, const float* P4,
                                const float* P5, const float* P6, const float* P7, float* C,
                                int stride, int rows, int columns, int halfRows,
                                int halfColumns) {
    const Matrix whole = {C, stride, rows, columns};
    const int column = firstColumn();
    if (column >= halfColumns) return;
    for (int row = firstRow(); row < halfRows; row += rowStep()) {
        const size_t place = size_t(row) * halfColumns + column;
        const float4 p1 = *reinterpret_cast<const float4*>(P1 + place);
        const float4 p2 = *reinterpret_cast<const float4*>(P2 + place);
        const float4 p3 = *reinterpret_cast<const float4*>(P3 + place);
        const float4 p4 = *reinterpret_cast<const float4*>(P4 + place);
        const float4 p5 = *reinterpret_cast<const float4*>(P5 + place);
        const float4 p6 = *reinterpret_cast<const float4*>(P6 + place);
        const float4 p7 = *reinterpret_cast<const float4*>(P7 + place);
        const float4 u2 = p1 + p3;
        const float4 u3 = u2 + p4;
        store4(quadrant(whole, 0, 0, halfRows, halfColumns), row, column, p1 + p2);
        store4(quadrant(whole, 0, 1, halfRows, halfColumns), row, column, u2 + p5 + p6);
        store4(quadrant(whole, 1, 0, halfRows, halfColumns), row, column, u3 - p7);
        store4(quadrant(whole, 1, 1, halfRows, halfColumns), row, column, u3 + p5);
    }
}

// What one product does to a quadrant of C.
constexpr int NOTHING = 0, STORE = 1, ADD = 2, SUBTRACT = 3;

__device__ void put(Matrix to, int row, int column, int what, float4 product) {
    if (what == NOTHING) return;
    if (what == STORE) return store4(to, row, column, product);
    const float4 before = load4(to, row, column, true);
    store4(to, row, column, what == ADD ? before + product : before - product);
}

// One product to all quadrants of C that it is a part of.
extern "C" __global__ void spread(const float* P, float* C, int stride, int rows, int columns,
                                  int halfRows, int halfColumns, int to11, int to12, int to21,
                                  int to22) {
    const Matrix whole = {C, stride, rows, columns};
    const int column = firstColumn();
    if (column >= halfColumns) return;
    for (int row = firstRow(); row < halfRows; row += rowStep()) {
        const size_t place = size_t(row) * halfColumns + column;
        const float4 product = *reinterpret_cast<const float4*>(P + place);
        put(quadrant(whole, 0, 0, halfRows, halfColumns), row, column, to11, product);
        put(quadrant(whole, 0, 1, halfRows, halfColumns), row, column, to12, product);
        put(quadrant(whole, 1, 0, halfRows, halfColumns), row, column, to21, product);
        put(quadrant(whole, 1, 1, halfRows, halfColumns), row, column, to22, product);
    }
}

// Two levels in one pass. What the outer level makes is cut into quadrants by the inner level, and
// stays in registers in between. The 49 factors, or products, lie one after the other, in the order
// of the products: 7 · outer + inner.

// One place of each quadrant of a matrix.
struct Four {
    float4 q11, q12, q21, q22;
};

__device__ Four operator+(Four a, Four b) {
    return {a.q11 + b.q11, a.q12 + b.q12, a.q21 + b.q21, a.q22 + b.q22};
}

__device__ Four operator-(Four a, Four b) {
    return {a.q11 - b.q11, a.q12 - b.q12, a.q21 - b.q21, a.q22 - b.q22};
}

// A quadrant of the whole matrix, itself as quadrants.
struct Place {
    int row, column, quarterRows, quarterColumns;
};

__device__ Four loadFour(Matrix whole, int down, int right, Place at) {
    const auto part = [&](int inDown, int inRight) {
        const Matrix one = quadrant(whole, 2 * down + inDown, 2 * right + inRight, at.quarterRows,
                                    at.quarterColumns);
        return load4(one, at.row, at.column, true);
    };
    return {part(0, 0), part(0, 1), part(1, 0), part(1, 1)};
}

__device__ void storeFour(Matrix whole, int down, int right, Place at, Four value) {
    const auto part = [&](int inDown, int inRight, float4 four) {
        const Matrix one = quadrant(whole, 2 * down + inDown, 2 * right + inRight, at.quarterRows,
                                    at.quarterColumns);
        store4(one, at.row, at.column, four);
    };
    part(0, 0, value.q11);
    part(0, 1, value.q12);
    part(1, 0, value.q21);
    part(1, 1, value.q22);
}

__device__ void storeSeven(float* to, size_t step, float4 one, float4 two, float4 six, float4 seven,
                           float4 five, float4 three, float4 four) {
    const float4 values[] = {one, two, six, seven, five, three, four};
#pragma unroll
    for (int i = 0; i < 7; ++i) *reinterpret_cast<float4*>(to + i * step) = values[i];
}

__device__ void leftSeven(float* to, size_t step, Four a) {
    const float4 s1 = a.q21 + a.q22;
    const float4 s2 = s1 - a.q11;
    storeSeven(to, step, a.q11, a.q12, s2, a.q11 - a.q21, s1, a.q12 - s2, a.q22);
}

__device__ void rightSeven(float* to, size_t step, Four b) {
    const float4 t1 = b.q12 - b.q11;
    const float4 t2 = b.q22 - t1;
    storeSeven(to, step, b.q11, b.q21, t2, b.q22 - b.q12, t1, b.q22, t2 - b.q21);
}

extern "C" __global__ void left_factors_twice(float* A, int stride, int rows, int columns,
                                              int quarterRows, int quarterColumns, float* factors) {
    const Matrix whole = {A, stride, rows, columns};
    const size_t step = size_t(quarterRows) * quarterColumns;
    const int column = firstColumn();
    if (column >= quarterColumns) return;
    for (int row = firstRow(); row < quarterRows; row += rowStep()) {
        const Place at = {row, column, quarterRows, quarterColumns};
        float* to = factors + size_t(row) * quarterColumns + column;
        const Four a11 = loadFour(whole, 0, 0, at), a12 = loadFour(whole, 0, 1, at);
        const Four a21 = loadFour(whole, 1, 0, at), a22 = loadFour(whole, 1, 1, at);
        const Four s1 = a21 + a22;
        const Four s2 = s1 - a11;
        leftSeven(to, step, a11);
        leftSeven(to + 7 * step, step, a12);
        leftSeven(to + 14 * step, step, s2);
        leftSeven(to + 21 * step, step, a11 - a21);
        leftSeven(to + 28 * step, step, s1);
        leftSeven(to + 35 * step, step, a12 - s2);
        leftSeven(to + 42 * step, step, a22);
    }
}

extern "C" __global__ void right_factors_twice(float* B, int stride, int rows, int columns,
                                               int quarterRows, int quarterColumns,
                                               float* factors) {
    const Matrix whole = {B, stride, rows, columns};
    const size_t step = size_t(quarterRows) * quarterColumns;
    const int column = firstColumn();
    if (column >= quarterColumns) return;
    for (int row = firstRow(); row < quarterRows; row += rowStep()) {
        const Place at = {row, column, quarterRows, quarterColumns};
        float* to = factors + size_t(row) * quarterColumns + column;
        const Four b11 = loadFour(whole, 0, 0, at), b12 = loadFour(whole, 0, 1, at);
        const Four b21 = loadFour(whole, 1, 0, at), b22 = loadFour(whole, 1, 1, at);
        const Four t1 = b12 - b11;
        const Four t2 = b22 - t1;
        rightSeven(to, step, b11);
        rightSeven(to + 7 * step, step, b21);
        rightSeven(to + 14 * step, step, t2);
        rightSeven(to + 21 * step, step, b22 - b12);
        rightSeven(to + 28 * step, step, t1);
        rightSeven(to + 35 * step, step, b22);
        rightSeven(to + 42 * step, step, t2 - b21);
    }
}

// Seven products of the inner level make one of the outer level.
__device__ Four joinSeven(const float* products, size_t step) {
    const auto part = [&](int i) {
        return *reinterpret_cast<const float4*>(products + i * step);
    };
    const float4 p1 = part(0), p2 = part(1), p6 = part(2), p7 = part(3);
    const float4 p5 = part(4), p3 = part(5), p4 = part(6);
    const float4 u2 = p1 + p6;
    const float4 u3 = u2 + p7;
    return {p1 + p2, (u2 + p5) + p3, u3 - p4, u3 + p5};
}

extern "C" __global__ void join_twice(const float* products, float* C, int stride, int rows,
                                      int columns, int quarterRows, int quarterColumns) {
    const Matrix whole = {C, stride, rows, columns};
    const size_t step = size_t(quarterRows) * quarterColumns;
    const int column = firstColumn();
    if (column >= quarterColumns) return;
    for (int row = firstRow(); row < quarterRows; row += rowStep()) {
        const Place at = {row, column, quarterRows, quarterColumns};
        const float* from = products + size_t(row) * quarterColumns + column;
        const Four p1 = joinSeven(from, step);
        storeFour(whole, 0, 0, at, p1 + joinSeven(from + 7 * step, step));
        const Four u2 = p1 + joinSeven(from + 14 * step, step);
        const Four u3 = u2 + joinSeven(from + 21 * step, step);
        const Four p5 = joinSeven(from + 28 * step, step);
        storeFour(whole, 1, 1, at, u3 + p5);
        storeFour(whole, 0, 1, at, (u2 + p5) + joinSeven(from + 35 * step, step));
        storeFour(whole, 1, 0, at, u3 - joinSeven(from + 42 * step, step));
    }
}
