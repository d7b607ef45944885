import { lstatSync, readlinkSync } from "node:fs";
import type { SandboxedProgram } from "@skein/core";

/**
 * Returns the arguments of bubblewrap for a program. Their order counts, because a later mount covers an earlier mount.
 *
 * The arguments contain the environment of the program, and every user of the machine can read the arguments of a
 * process. They are therefore passed through a pipe (`--args`).
 */
export function bubblewrapArguments(program: SandboxedProgram, pipes: BubblewrapPipes): readonly string[] {
  const { places, cwd, env, limits = {} } = program;
  const temporaryBytes = limits.temporaryBytes ?? TEMPORARY_BYTES;
  return [
    NAMESPACES,
    systemFolders(),
    ["--proc", "/proc"],
    // If the server runs as root, the kernel also treats the program in the sandbox as root. With these files, the
    // program could change the whole machine.
    READ_ONLY_PROC.flatMap((name) => ["--ro-bind-try", `/proc/${name}`, `/proc/${name}`]),
    ["--dev", "/dev", "--size", String(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"],
    ["--perms", "1777", "--size", String(temporaryBytes), "--tmpfs", "/tmp"],
    ["--dir", "/etc"],
    ETC.flatMap((name) => ["--ro-bind-try", `/etc/${name}`, `/etc/${name}`]),
    ["--ro-bind-data", String(pipes.passwd), "/etc/passwd"],
    ["--ro-bind-data", String(pipes.group), "/etc/group"],
    ["--ro-bind-data", String(pipes.hosts), "/etc/hosts"],
    places.flatMap(({ path, access, inside = path }) => [access === "write" ? "--bind" : "--ro-bind", path, inside]),
    pipes.filter === undefined ? [] : ["--seccomp", String(pipes.filter)],
    ["--remount-ro", "/", "--chdir", cwd, "--clearenv"],
    Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]),
  ].flat();
}

/** The file descriptors of bubblewrap's inputs. */
export interface BubblewrapPipes {
  readonly passwd: number;
  readonly group: number;
  readonly hosts: number;
  readonly filter: number | undefined;
}

/** The user of the program in the sandbox. It is an ordinary user. */
export const USER_FILES = {
  passwd: "agent:x:1000:1000:agent:/tmp:/bin/bash\n",
  group: "agent:x:1000:\n",
  hosts: "127.0.0.1 localhost session\n::1 localhost\n",
};

const NAMESPACES = [
  ..."--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net".split(" "),
  // `--new-session` is not used. With this option, a group that was killed within 7 ms of its start left orphans in 5
  // of 60 cases.
  ..."--disable-userns --die-with-parent --as-pid-1 --uid 1000 --gid 1000 --hostname session --cap-drop ALL".split(" "),
];

const READ_ONLY_PROC = ["sys", "sysrq-trigger", "irq", "bus"];

/** Files in /etc without secrets, such as certificates, the links of `alternatives` and the time zone. */
const ETC = [
  "ssl/certs",
  "ca-certificates",
  "pki",
  "alternatives",
  "ld.so.cache",
  "localtime",
  "timezone",
  "locale.conf",
  "mime.types",
];

const SHARED_MEMORY_BYTES = 64 * 1024 * 1024;
const TEMPORARY_BYTES = 256 * 1024 * 1024;

/**
 * Returns arguments for the programs and libraries of the system. If `/bin` is a link into `/usr`, as on most systems,
 * the sandbox gets the same link.
 */
function systemFolders(): readonly string[] {
  return [
    ["--ro-bind", "/usr", "/usr"],
    ...["bin", "sbin", "lib", "lib32", "lib64"].map((name) => {
      const target = linkTarget(`/${name}`);
      if (target === "missing") return [];
      return target === "folder" ? ["--ro-bind", `/${name}`, `/${name}`] : ["--symlink", target.link, `/${name}`];
    }),
    // NixOS has its programs outside of /usr.
    ...["/nix/store", "/run/current-system"].map((folder) => ["--ro-bind-try", folder, folder]),
  ].flat();
}

function linkTarget(path: string): "missing" | "folder" | { readonly link: string } {
  try {
    return lstatSync(path).isSymbolicLink() ? { link: readlinkSync(path) } : "folder";
  } catch {
    return "missing";
  }
}
