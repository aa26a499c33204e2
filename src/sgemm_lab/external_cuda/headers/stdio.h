#ifndef SGEMM_LAB_STDIO
#define SGEMM_LAB_STDIO
#define printf(...) ([] { return 0; }())
#endif
