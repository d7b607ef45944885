import type { Readable, Writable } from "node:stream";

/**
 * Runs programs that a model can control: Claude Code and its children, shell commands, MCP servers. A program sees
 * only the operating system, which it cannot change, and its `places`. `walls` tells what the sandbox prevents. When
 * the server ends, the program and all its child processes end too.
 */
export interface Sandbox {
  readonly walls: SandboxWalls;
  /**
   * Starts a program. A sandbox with the wall `files` throws if one of the `places` does not exist. A program that does
   * not exist ends with the code 127.
   */
  start(program: SandboxedProgram): SandboxedProcess;
}

/** What a sandbox prevents. If a field is `false`, the sandbox does not prevent this, and operators are told so. */
export interface SandboxWalls {
  readonly driver: string;
  /** The program reads and writes only the places that it was given. */
  readonly files: boolean;
  /** The program can connect only to its own loopback addresses. */
  readonly network: boolean;
  /** The program sees only its own processes, and everything that it starts ends with it. */
  readonly processes: boolean;
  /** The system calls of the program are filtered. */
  readonly kernelCalls: boolean;
  /** Summarises the walls in a sentence for an operator. */
  readonly summary: string;
  /** Says in a sentence which limits are enforced, and how. */
  readonly limits: string;
}

export interface SandboxedProgram {
  /** An absolute path, or the name of a program of the system. */
  readonly command: string;
  readonly args: readonly string[];
  /** The working folder: a folder of `places`, or a folder below it. */
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
   * folder by now, for example because the folder was replaced by a link.
   */
  readonly identity?: string | undefined;
}

/** Limits of a program. A limit that is left out is not enforced. */
export interface SandboxLimits {
  /** The most bytes of memory for the data of a process. */
  readonly memoryBytes?: number;
  /** The most bytes of memory for the program and all its child processes together. */
  readonly totalMemoryBytes?: number;
  /** The most processes that the program may have, itself and all its child processes together. */
  readonly processes?: number;
  /** The most bytes of a file that the program writes. */
  readonly fileBytes?: number;
  /** The most bytes of the program's temporary folder, which is kept in memory. */
  readonly temporaryBytes?: number;
  /** The most seconds of CPU time of the program and all its child processes together. */
  readonly cpuSeconds?: number;
  /** The most bytes on disk of all folders that the program may write to, together. */
  readonly folderBytes?: number;
}

/** The folder and the sandbox for the programs of a session. */
export interface Workplace {
  /** The folder for tools without a configured folder. */
  readonly folder: string;
  /** Undefined if the sandbox mode is `off`, or if it is `preferred` and this machine has no sandbox. */
  readonly sandbox: Sandbox | undefined;
  /** Why this session may not run programs that a model controls, as a sentence for the model. */
  readonly refusal?: string | undefined;
  /** Called when a program was rejected because of `refusal`. */
  readonly onRefused?: (() => Promise<void>) | undefined;
  readonly limits?: SandboxLimits | undefined;
  /**
   * Opens network access from a sandbox to the hosts that the session may call. If this is missing or returns
   * undefined, no host can be called.
   */
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
  /** The id of the outermost process, and of its process group. Undefined if the program could not be started. */
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
  /** The limit for which the program was stopped, as part of a sentence: `it had 300 processes, and may have 256`. */
  readonly limit?: string;
}
