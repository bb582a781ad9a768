// SPDX-License-Identifier: Apache-2.0
// Messages that really leave a rank, those inside of MPI's own collectives too: between Open MPI and
// the layer that all of its messages pass. That layer is a table of functions whose order no standard
// fixes: wire_count.py sends messages whose number is known before it believes what is counted here.
//   mpicc -shared -fPIC -o wire_count.so wire_count.c
#include <stddef.h>

typedef int (*Isend)(const void*, size_t, void*, int, int, int, void*, void**);
typedef int (*Send)(const void*, size_t, void*, int, int, int, void*);

enum { isend_at = 10, send_at = 11 };
extern void* mca_pml[];

static long long messages;
static Isend isend;
static Send send;

static int counted_isend(const void* data, size_t n, void* type, int to, int tag, int mode,
                         void* comm, void** request) {
  ++messages;
  return isend(data, n, type, to, tag, mode, comm, request);
}
static int counted_send(const void* data, size_t n, void* type, int to, int tag, int mode,
                        void* comm) {
  ++messages;
  return send(data, n, type, to, tag, mode, comm);
}

void wire_start(void) {
  isend = (Isend)mca_pml[isend_at];
  send = (Send)mca_pml[send_at];
  mca_pml[isend_at] = (void*)counted_isend;
  mca_pml[send_at] = (void*)counted_send;
}
long long wire_messages(void) { return messages; }
