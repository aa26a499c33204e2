// A description of a matrix by which TMA copies boxes of it. Of a matrix that is not aligned it is
// all zeros: the kernel does not use it then.
TensorMap encoded(CUtensorMapDataType type, const void* matrix, double rows, double columns,
                  double pitch, double boxRows, double boxColumns, CUtensorMapSwizzle swizzle)
{
    TensorMap map = {};
    if (size_t(matrix) % 16) return map;
    const cuuint64_t sizes[] = {cuuint64_t(columns), cuuint64_t(rows)};
    const cuuint64_t pitches[] = {cuuint64_t(pitch)};
    const cuuint32_t box[] = {cuuint32_t(boxColumns), cuuint32_t(boxRows)}, steps[] = {1, 1};
    const CUresult error = cuTensorMapEncodeTiled(
        reinterpret_cast<CUtensorMap*>(&map), type, 2, const_cast<void*>(matrix), sizes, pitches,
        box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (error) {
        std::fprintf(stderr, "The driver refuses a tensor map (error %d).\n", int(error));
        std::exit(2);
    }
    return map;
}
