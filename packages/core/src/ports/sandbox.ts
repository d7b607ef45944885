import type { Readable, Writable } from "node:stream";

/**
 * Runs programs that a model can control: Claude Code and its children, shell commands, MCP servers.
 *
 * A program sees a read-only system and the places that it was given, and nothing else. What the sandbox cannot prevent
 * is named in `walls`. A program ends with its server, and everything that it started ends with it.
 */
export interface Sandbox {
  readonly walls: SandboxWalls;
  /** Starts a program. If it cannot be started (a folder or the program is missing), `ended` has the reason. */
  start(program: SandboxedProgram): SandboxedProcess;
}

/** What a sandbox prevents. `false`: the sandbox does not prevent this, and operators are told so. */
export interface SandboxWalls {
  readonly driver: string;
  /** The program reads and writes only the places that it was given. */
  readonly files: boolean;
  /** The program can connect only to its own loopback addresses. */
  readonly network: boolean;
  /** The program sees only its own processes, and everything that it starts ends with it. */
  readonly processes: boolean;
  /** The program's system calls are filtered. */
  readonly kernelCalls: boolean;
  /** A sentence for an operator. */
  readonly summary: string;
  /** Which limits are enforced, and by what, as a sentence. */
  readonly limits: string;
}

export interface SandboxedProgram {
  /** An absolute path, or the name of a program of the system. */
  readonly command: string;
  readonly args: readonly string[];
  /** The working folder: one of the places, or a folder below one of them. */
  readonly cwd: string;
  /** The whole environment: no variable of the server is passed on. */
  readonly env: Readonly<Record<string, string>>;
  readonly places: readonly SandboxPlace[];
  readonly limits?: SandboxLimits;
  /** How long the program may run without another call of `allow`. Default: as long as the server lives. */
  readonly goodForMs?: number;
}

/** A file, folder or socket that a program sees. `inside` is its path in the sandbox. Default: the same path. */
export interface SandboxPlace {
  readonly path: string;
  readonly access: "read" | "write";
  readonly inside?: string;
  /**
   * Device and inode of the intended folder, as `66:1234`. The program does not start if the path leads to another
   * folder when the sandbox is made, for example because another program replaced the folder by a link.
   */
  readonly identity?: string | undefined;
}

/** Limits of a program. A limit that is left out is not enforced. */
export interface SandboxLimits {
  /** Bytes of memory for data that one process may have. */
  readonly memoryBytes?: number;
  /** Bytes of memory that the program and everything that it started may have together. */
  readonly totalMemoryBytes?: number;
  /** The number of processes that the program and everything that it started may have together. */
  readonly processes?: number;
  /** Bytes of the largest file that the program may write. */
  readonly fileBytes?: number;
  /** Bytes of the program's temporary folder, which is kept in memory. */
  readonly temporaryBytes?: number;
  /** Seconds of CPU time of the program and everything that it started, together. */
  readonly cpuSeconds?: number;
  /** Bytes on disk of all folders that the program may write to, together. */
  readonly folderBytes?: number;
}

/** Where the programs of one session run: the session's own folder, and the sandbox around them. */
export interface Workplace {
  /** The folder of tools that got no folder of their own. */
  readonly folder: string;
  /** Undefined if no sandbox is wanted, or if one is preferred but this machine has none. */
  readonly sandbox: Sandbox | undefined;
  /** Why this session may not run programs that a model controls, as a sentence for the model. */
  readonly refusal?: string | undefined;
  /** Called when a program was rejected because of `refusal`. */
  readonly onRefused?: (() => Promise<void>) | undefined;
  readonly limits?: SandboxLimits | undefined;
  /** Opens network access from one sandbox to the hosts that the session may call. Left out, or undefined: no hosts. */
  readonly openHosts?: (() => Promise<HostGate | undefined>) | undefined;
}

/** Network access from one sandbox to the hosts that were opened for it. */
export interface HostGate {
  /** The socket that the sandbox has to see. */
  readonly place: SandboxPlace;
  /** The environment variables that make programs use the gate. */
  readonly env: Readonly<Record<string, string>>;
  close(): void;
}

export interface SandboxedProcess {
  /**
   * The id of the outermost process, which is also the id of its process group; undefined if the program could not be
   * started.
   */
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Lets the program run for this time from now on. Call it again before that time is over. */
  allow(ms: number): void;
  /** SIGKILL ends the program and everything that it started; other signals reach only the program. */
  kill(signal: NodeJS.Signals): void;
  /** Never rejects. If code and signal are both null, the program could not be started. */
  readonly ended: Promise<SandboxedEnd>;
}

export interface SandboxedEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /**
   * The limit that the program exceeded, so that it was stopped, as part of a sentence: `it had 300 processes, and may
   * have 256`.
   */
  readonly limit?: string;
}
