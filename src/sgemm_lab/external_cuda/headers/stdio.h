#ifndef SGEMM_LAB_STDIO
#define SGEMM_LAB_STDIO
#define printf(...) ((int)0)
#endif
