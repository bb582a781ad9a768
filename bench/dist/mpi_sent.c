// SPDX-License-Identifier: Apache-2.0
// What a rank hands to MPI, counted between a program and the MPI library (LD_PRELOAD): calls and
// payload bytes, as if each piece went straight to each rank that needs it. For bench_dist.py, so
// that libraries which do not count for themselves can be compared. Not part of any library.
//   mpicc -shared -fPIC -o mpi_sent.so mpi_sent.c;  LD_PRELOAD=./mpi_sent.so mpirun -n 4 program
#include <mpi.h>

static long long calls, bytes;

void sent_reset(void) { calls = bytes = 0; }
long long sent_calls(void) { return calls; }
long long sent_bytes(void) { return bytes; }

static int ranks(MPI_Comm comm) {
  int n;
  PMPI_Comm_size(comm, &n);
  return n;
}
static int me(MPI_Comm comm) {
  int r;
  PMPI_Comm_rank(comm, &r);
  return r;
}
static long long item(MPI_Datatype type) {
  int n;
  PMPI_Type_size(type, &n);
  return n;
}
static void note(long long count, long long size, int copies) {
  calls += copies > 0;
  bytes += count * size * copies;
}
// What goes to each of the others in a call with one count per rank.
static void note_each(const int* counts, MPI_Datatype type, MPI_Comm comm) {
  ++calls;
  for (int r = 0; r < ranks(comm); ++r)
    if (r != me(comm)) bytes += counts[r] * item(type);
}

#define TO_ONE (dest != MPI_PROC_NULL && dest != me(comm))
#define SEND(name)                                                                                 \
  int MPI_##name(const void* b, int n, MPI_Datatype t, int dest, int tag, MPI_Comm comm) {         \
    note(n, item(t), TO_ONE);                                                                      \
    return PMPI_##name(b, n, t, dest, tag, comm);                                                  \
  }
#define ISEND(name)                                                                                \
  int MPI_##name(const void* b, int n, MPI_Datatype t, int dest, int tag, MPI_Comm comm,           \
                 MPI_Request* q) {                                                                 \
    note(n, item(t), TO_ONE);                                                                      \
    return PMPI_##name(b, n, t, dest, tag, comm, q);                                               \
  }
SEND(Send)
SEND(Ssend)
SEND(Bsend)
SEND(Rsend)
ISEND(Isend)
ISEND(Issend)
ISEND(Ibsend)
ISEND(Irsend)
int MPI_Sendrecv(const void* s, int n, MPI_Datatype t, int dest, int stag, void* r, int rn,
                 MPI_Datatype rt, int source, int rtag, MPI_Comm comm, MPI_Status* u) {
  note(n, item(t), TO_ONE);
  return PMPI_Sendrecv(s, n, t, dest, stag, r, rn, rt, source, rtag, comm, u);
}

// Collectives with a blocking and a non-blocking form: `more` and `last` add the request.
#define COMMA ,

#define BCAST(fn, more, last)                                                                      \
  int MPI_##fn(void* b, int n, MPI_Datatype t, int root, MPI_Comm comm more) {                     \
    note(n, item(t), me(comm) == root ? ranks(comm) - 1 : 0);                                      \
    return PMPI_##fn(b, n, t, root, comm last);                                                    \
  }
BCAST(Bcast, , )
BCAST(Ibcast, COMMA MPI_Request* q, COMMA q)

#define ALLREDUCE(fn, copies, more, last)                                                          \
  int MPI_##fn(const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm more) {     \
    note(n, item(t), copies);                                                                      \
    return PMPI_##fn(s, r, n, t, op, comm last);                                                   \
  }
ALLREDUCE(Allreduce, ranks(comm) - 1, , )
ALLREDUCE(Iallreduce, ranks(comm) - 1, COMMA MPI_Request* q, COMMA q)
ALLREDUCE(Scan, ranks(comm) - 1 - me(comm), , )
ALLREDUCE(Exscan, ranks(comm) - 1 - me(comm), , )
ALLREDUCE(Iexscan, ranks(comm) - 1 - me(comm), COMMA MPI_Request* q, COMMA q)

int MPI_Reduce(const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm) {
  note(n, item(t), me(comm) != root);
  return PMPI_Reduce(s, r, n, t, op, root, comm);
}

#define ALLGATHER(fn, more, last)                                                                  \
  int MPI_##fn(const void* s, int n, MPI_Datatype t, void* r, int rn, MPI_Datatype rt,             \
               MPI_Comm comm more) {                                                               \
    note(s == MPI_IN_PLACE ? rn : n, item(s == MPI_IN_PLACE ? rt : t), ranks(comm) - 1);           \
    return PMPI_##fn(s, n, t, r, rn, rt, comm last);                                               \
  }
ALLGATHER(Allgather, , )
ALLGATHER(Iallgather, COMMA MPI_Request* q, COMMA q)

#define ALLGATHERV(fn, more, last)                                                                 \
  int MPI_##fn(const void* s, int n, MPI_Datatype t, void* r, const int* rn, const int* d,         \
               MPI_Datatype rt, MPI_Comm comm more) {                                              \
    note(s == MPI_IN_PLACE ? rn[me(comm)] : n, item(s == MPI_IN_PLACE ? rt : t), ranks(comm) - 1); \
    return PMPI_##fn(s, n, t, r, rn, d, rt, comm last);                                            \
  }
ALLGATHERV(Allgatherv, , )
ALLGATHERV(Iallgatherv, COMMA MPI_Request* q, COMMA q)

#define ALLTOALL(fn, more, last)                                                                   \
  int MPI_##fn(const void* s, int n, MPI_Datatype t, void* r, int rn, MPI_Datatype rt,             \
               MPI_Comm comm more) {                                                               \
    note(s == MPI_IN_PLACE ? rn : n, item(s == MPI_IN_PLACE ? rt : t), ranks(comm) - 1);           \
    return PMPI_##fn(s, n, t, r, rn, rt, comm last);                                               \
  }
ALLTOALL(Alltoall, , )
ALLTOALL(Ialltoall, COMMA MPI_Request* q, COMMA q)

#define ALLTOALLV(fn, more, last)                                                                  \
  int MPI_##fn(const void* s, const int* n, const int* d, MPI_Datatype t, void* r, const int* rn,  \
               const int* rd, MPI_Datatype rt, MPI_Comm comm more) {                               \
    note_each(s == MPI_IN_PLACE ? rn : n, s == MPI_IN_PLACE ? rt : t, comm);                       \
    return PMPI_##fn(s, n, d, t, r, rn, rd, rt, comm last);                                        \
  }
ALLTOALLV(Alltoallv, , )
ALLTOALLV(Ialltoallv, COMMA MPI_Request* q, COMMA q)

int MPI_Alltoallw(const void* s, const int* n, const int* d, const MPI_Datatype* t, void* r,
                  const int* rn, const int* rd, const MPI_Datatype* rt, MPI_Comm comm) {
  ++calls;
  for (int i = 0; i < ranks(comm); ++i)
    if (i != me(comm)) bytes += n[i] * item(t[i]);
  return PMPI_Alltoallw(s, n, d, t, r, rn, rd, rt, comm);
}

int MPI_Gather(const void* s, int n, MPI_Datatype t, void* r, int rn, MPI_Datatype rt, int root,
               MPI_Comm comm) {
  note(n, item(t), me(comm) != root);
  return PMPI_Gather(s, n, t, r, rn, rt, root, comm);
}
int MPI_Gatherv(const void* s, int n, MPI_Datatype t, void* r, const int* rn, const int* d,
                MPI_Datatype rt, int root, MPI_Comm comm) {
  note(n, item(t), me(comm) != root);
  return PMPI_Gatherv(s, n, t, r, rn, d, rt, root, comm);
}
int MPI_Scatter(const void* s, int n, MPI_Datatype t, void* r, int rn, MPI_Datatype rt, int root,
                MPI_Comm comm) {
  note(n, item(t), me(comm) == root ? ranks(comm) - 1 : 0);
  return PMPI_Scatter(s, n, t, r, rn, rt, root, comm);
}
int MPI_Scatterv(const void* s, const int* n, const int* d, MPI_Datatype t, void* r, int rn,
                 MPI_Datatype rt, int root, MPI_Comm comm) {
  if (me(comm) == root) note_each(n, t, comm);
  return PMPI_Scatterv(s, n, d, t, r, rn, rt, root, comm);
}
