/**
 * Makes the filter for system calls of a process in a sandbox. The filter is a program of classic BPF that bubblewrap
 * gives to the kernel (seccomp). It lists the denied calls: access to other processes, mounts, namespaces, set-user-id
 * files, unusual sockets, and parts of the kernel that were used to escape from sandboxes. It is not a list of
 * allowed calls, because the calls that Node, Claude Code or a compiler needs change with versions. Reasons:
 * docs/decisions/086-filter-of-kernel-calls.md.
 */

export interface SyscallFilterOptions {
  /**
   * Whether the process may make sockets (Unix, IPv4, IPv6, netlink) and named pipes. The network namespace of the
   * process decides what the sockets reach.
   */
  readonly sockets: boolean;
}

type CallNumbers = Readonly<Record<string, readonly [x64: number, arm64: number]>>;

/** The calls that are denied to every process in a sandbox, with their numbers on x64 and on arm64. */
const REFUSED: CallNumbers = {
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
  swapon: [167, 224],
  swapoff: [168, 225],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  settimeofday: [164, 170],
  adjtimex: [159, 171],
  reboot: [169, 142],
  acct: [163, 89],
};

/** On x64 only: access to hardware and to processor tables. */
const REFUSED_ON_X64 = [172, 173, 154];

/** Calls that are denied to a process that needs no sockets, because it communicates through its pipes. */
const SOCKETS: CallNumbers = {
  socket: [41, 198],
  socketpair: [53, 199],
  connect: [42, 203],
  bind: [49, 200],
  listen: [50, 201],
  accept: [43, 202],
  accept4: [288, 242],
  mknodat: [259, 33],
};

interface ModeCall {
  /** The call numbers on x64 and on arm64. Undefined for calls that arm64 has only in a variant with a directory. */
  readonly numbers: readonly (number | undefined)[];
  /** The index of the argument with the mode. */
  readonly mode: number;
  /** The index of the argument with the flags. Set if the mode matters only for a new file. */
  readonly flags?: number;
}

/** Calls that give a file its mode. */
const MODE_CALLS: readonly ModeCall[] = [
  { numbers: [90, undefined], mode: 1 }, // chmod
  { numbers: [91, 52], mode: 1 }, // fchmod
  { numbers: [268, 53], mode: 2 }, // fchmodat
  { numbers: [452, 452], mode: 2 }, // fchmodat2
  { numbers: [85, undefined], mode: 1 }, // creat
  { numbers: [2, undefined], mode: 2, flags: 1 }, // open
  { numbers: [257, 56], mode: 3, flags: 2 }, // openat
  { numbers: [133, undefined], mode: 1 }, // mknod
  { numbers: [259, 33], mode: 2 }, // mknodat
];

const KERNELS = {
  x64: { at: 0, audit: 0xc000003e, clone: 56, socket: 41, ioctl: 16 },
  arm64: { at: 1, audit: 0xc00000b7, clone: 220, socket: 198, ioctl: 29 },
} as const;

/**
 * These calls take their arguments from memory, which a filter cannot read, so both are denied. Programs then use
 * `clone` and `openat`.
 */
const IN_MEMORY = [435, 437]; // clone3, openat2
/** The first number of the x32 calls, which x64 has for 32-bit programs. */
const X32 = 0x40000000;
/** The flags of `clone` that make namespaces. */
const NEW_NAMESPACES = 0x7e020080;
/** The bits of a mode that let a file run as its owner or its group. */
const SETUID_BITS = 0o6000;
/** The flags of `open` that make a file: O_CREAT, and the bit of O_TMPFILE that other flags do not have. */
const MAKES_A_FILE = 0x400040;
/**
 * The allowed kinds of sockets: Unix, IPv4, IPv6, netlink. Others (vsock, packet, Bluetooth …) are not needed, or a
 * network namespace does not confine them.
 */
const FAMILIES = [1, 2, 10, 16];
/** Terminal commands that put input into the terminal of the user who started the process: TIOCSTI, TIOCLINUX. */
const TYPING = [0x5412, 0x541c];

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const refuse = (error: number): number => 0x00050000 | error;

/**
 * Offsets in the kernel's description of a call: its number, the processor architecture, the low half of an argument.
 */
const NUMBER = 0;
const AUDIT = 4;
const argument = (index: number): number => 16 + 8 * index;

const load = (from: number): Uint8Array => instruction(0x20, from);
const answer = (what: number): Uint8Array => instruction(0x06, what);
/**
 * Tests of the loaded value: it equals `value`, is at least `value`, or has one of `bits`. If the test fails, the next
 * instruction is skipped.
 */
const unlessEqual = (value: number): Uint8Array => instruction(0x15, value, [0, 1]);
const unlessAtLeast = (value: number): Uint8Array => instruction(0x35, value, [0, 1]);
const unlessAny = (bits: number): Uint8Array => instruction(0x45, bits, [0, 1]);

/** Tests an argument of a call, and then loads the number of the call again. */
function onCall(number: number | undefined, index: number, tests: readonly Uint8Array[]): readonly Uint8Array[] {
  if (number === undefined) return [];
  return [
    instruction(0x15, number, [0, tests.length + 2]),
    load(argument(index)),
    ...tests,
    // If no test rejects the call, its number is compared with the next number.
    load(NUMBER),
  ];
}

function setuidTests(mode: number, flags: number | undefined): readonly Uint8Array[] {
  const test = [unlessAny(SETUID_BITS), answer(refuse(EPERM))];
  if (flags === undefined) return test;
  return [instruction(0x45, MAKES_A_FILE, [0, test.length + 1]), load(argument(mode)), ...test];
}

const refuseCall = (number: number): readonly Uint8Array[] => [unlessEqual(number), answer(refuse(EPERM))];

/** Makes the filter for a processor architecture. Undefined if its call numbers are unknown. */
export function syscallFilter(arch: string, { sockets }: SyscallFilterOptions): Uint8Array | undefined {
  const kernel = arch === "x64" || arch === "arm64" ? KERNELS[arch] : undefined;
  if (!kernel) return undefined;
  const refused = { ...REFUSED, ...(!sockets && SOCKETS) };
  const otherFamily = [
    ...FAMILIES.map((family, index) => instruction(0x15, family, [FAMILIES.length - index, 0])),
    answer(refuse(EAFNOSUPPORT)),
  ];
  return Buffer.concat([
    load(AUDIT),
    instruction(0x15, kernel.audit, [1, 0]),
    answer(KILL),
    load(NUMBER),
    ...(arch === "x64" ? [unlessAtLeast(X32), answer(KILL), ...REFUSED_ON_X64.flatMap(refuseCall)] : []),
    ...Object.values(refused).flatMap((numbers) => refuseCall(numbers[kernel.at])),
    ...IN_MEMORY.flatMap((number) => [unlessEqual(number), answer(refuse(ENOSYS))]),
    ...onCall(kernel.clone, 0, [unlessAny(NEW_NAMESPACES), answer(refuse(EPERM))]),
    ...onCall(kernel.socket, 0, otherFamily),
    ...onCall(
      kernel.ioctl,
      1,
      TYPING.flatMap((command) => [unlessEqual(command), answer(refuse(EPERM))]),
    ),
    ...MODE_CALLS.flatMap(({ numbers, mode, flags }) =>
      onCall(numbers[kernel.at], flags ?? mode, setuidTests(mode, flags)),
    ),
    answer(ALLOW),
  ]);
}

/** Makes an instruction. `yes` and `no` are the numbers of instructions to skip if its test is true or false. */
function instruction(code: number, value: number, [yes, no]: readonly [number, number] = [0, 0]): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(yes, 2);
  bytes.writeUInt8(no, 3);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
