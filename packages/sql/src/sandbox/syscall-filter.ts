/**
 * The system calls that a process in the sandbox may not make, as a program of classic BPF that bubblewrap gives to the kernel
 * (seccomp).
 *
 * It lists what is denied: sockets of any kind, access to other processes, mounts, namespaces, and parts of the kernel that a
 * statement never needs and that have been used to escape from sandboxes. It does not list what Node and DuckDB need, because
 * that changes with their versions.
 */

/** The denied calls with their numbers on x64 and on arm64. */
const REFUSED: Readonly<Record<string, readonly [x64: number, arm64: number]>> = {
  socket: [41, 198],
  socketpair: [53, 199],
  connect: [42, 203],
  bind: [49, 200],
  listen: [50, 201],
  accept: [43, 202],
  accept4: [288, 242],
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  mknodat: [259, 33],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  fanotify_init: [300, 262],
  unshare: [272, 97],
  setns: [308, 268],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  quotactl: [179, 60],
  syslog: [103, 116],
  personality: [135, 92],
};

const KERNELS = {
  x64: { at: 0, audit: 0xc000003e, clone: 56 },
  arm64: { at: 1, audit: 0xc00000b7, clone: 220 },
} as const;

const CLONE3 = 435;
/** The first number of the x32 calls, which x64 has for 32-bit programs. */
const X32 = 0x40000000;
/** The flags of `clone` that make namespaces. */
const NEW_NAMESPACES = 0x7e020080;

const EPERM = 1;
const ENOSYS = 38;
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const refuse = (error: number): number => 0x00050000 | error;

/** Offsets in the kernel's description of a call: its number, the kind of processor, the first argument. */
const NUMBER = 0;
const AUDIT = 4;
const FIRST = 16;

const load = (from: number): Uint8Array => instruction(0x20, from);
const answer = (what: number): Uint8Array => instruction(0x06, what);
/** Each skips the next instruction unless the loaded value is equal, is at least this, or has one of these bits. */
const unlessEqual = (value: number): Uint8Array => instruction(0x15, value, [0, 1]);
const unlessAtLeast = (value: number): Uint8Array => instruction(0x35, value, [0, 1]);
const unlessAny = (bits: number): Uint8Array => instruction(0x45, bits, [0, 1]);

/** The filter for a kind of processor; undefined if its call numbers are not known. */
export function syscallFilter(arch: string): Uint8Array | undefined {
  const kernel = arch === "x64" || arch === "arm64" ? KERNELS[arch] : undefined;
  if (!kernel) return undefined;
  return Buffer.concat([
    load(AUDIT),
    instruction(0x15, kernel.audit, [1, 0]),
    answer(KILL),
    load(NUMBER),
    ...(arch === "x64" ? [unlessAtLeast(X32), answer(KILL)] : []),
    ...Object.values(REFUSED).flatMap((numbers) => [unlessEqual(numbers[kernel.at]), answer(refuse(EPERM))]),
    // The flags of clone3 are in memory, which a filter cannot read. Without clone3, threads are made with clone.
    unlessEqual(CLONE3),
    answer(refuse(ENOSYS)),
    instruction(0x15, kernel.clone, [0, 3]),
    load(FIRST),
    unlessAny(NEW_NAMESPACES),
    answer(refuse(EPERM)),
    answer(ALLOW),
  ]);
}

/** One instruction: its code, how many instructions to skip if its test is true and if it is false, and its value. */
function instruction(code: number, value: number, [yes, no]: readonly [number, number] = [0, 0]): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(yes, 2);
  bytes.writeUInt8(no, 3);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
