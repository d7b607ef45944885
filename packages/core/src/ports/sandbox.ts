import type { Readable, Writable } from "node:stream";

/**
 * Where programs run that a model can steer: Claude Code and its children, shell commands, MCP servers.
 *
 * A program sees a read-only system, the places that it was given, and nothing else. Whatever the driver cannot keep out is
 * named in `walls`. A program ends with its server, and everything that it started ends with it.
 */
export interface Sandbox {
  readonly walls: SandboxWalls;
  /** Starts a program. What it cannot start (a folder is missing, the program is not there) is told by `ended`. */
  start(program: SandboxedProgram): SandboxedProcess;
}

/** What a program is kept from. `false` is a hole that an operator has to know of. */
export interface SandboxWalls {
  readonly driver: string;
  /** It reads and writes only the places it was given. */
  readonly files: boolean;
  /** It reaches no address but its own loopback. */
  readonly network: boolean;
  /** It sees no process but its own, and nothing that it starts survives it. */
  readonly processes: boolean;
  /** Its calls to the kernel are filtered. */
  readonly kernelCalls: boolean;
  /** A sentence for an operator. */
  readonly summary: string;
  /** Which limits hold, and by what, as a sentence. */
  readonly limits: string;
}

export interface SandboxedProgram {
  /** An absolute path, or the name of a program of the system. */
  readonly command: string;
  readonly args: readonly string[];
  /** One of the places, or a folder below one. */
  readonly cwd: string;
  /** The whole environment: nothing of the server's own is passed on. */
  readonly env: Readonly<Record<string, string>>;
  readonly places: readonly SandboxPlace[];
  readonly limits?: SandboxLimits;
  /** For how long the program may go on without another `allow`; as long as the server lives if it is left out. */
  readonly goodForMs?: number;
}

/** A file, folder or socket that a program sees. It has the same path inside unless `inside` says another one. */
export interface SandboxPlace {
  readonly path: string;
  readonly access: "read" | "write";
  readonly inside?: string;
}

/** What is left out is not limited. */
export interface SandboxLimits {
  /** Bytes of data that one process may have. */
  readonly memoryBytes?: number;
  /** Bytes that the program and everything that it started may have together. */
  readonly totalMemoryBytes?: number;
  /** Processes of the program, all together. */
  readonly processes?: number;
  /** Bytes of the largest file that it may write. */
  readonly fileBytes?: number;
  /** Bytes of its temporary folder, which is kept in memory. */
  readonly temporaryBytes?: number;
  /** Seconds of CPU time of the program and everything that it started, together. */
  readonly cpuSeconds?: number;
  /** Bytes on disk of the folders that it may write to, together. */
  readonly folderBytes?: number;
}

/** Where the programs of one session run: the folder that is its own, and the sandbox around them. */
export interface Workplace {
  /** For tools that were given no folder. */
  readonly folder: string;
  /** Undefined: no sandbox is wanted, or one is preferred that this machine does not have. */
  readonly sandbox: Sandbox | undefined;
  /** Why programs that a model steers are off in this session, as a sentence for the model. */
  readonly refusal?: string | undefined;
  /** Told when a program was refused for that reason. */
  readonly onRefused?: (() => Promise<void>) | undefined;
  readonly limits?: SandboxLimits | undefined;
  /** Opens a way out of one sandbox to the hosts that the session may call. Left out, or undefined: it may call none. */
  readonly openHosts?: (() => Promise<HostGate | undefined>) | undefined;
}

/** The way out of one sandbox to the hosts that were opened for it. */
export interface HostGate {
  /** The socket that the sandbox has to see. */
  readonly place: SandboxPlace;
  /** The variables that lead programs there. */
  readonly env: Readonly<Record<string, string>>;
  close(): void;
}

export interface SandboxedProcess {
  /** Of the outermost process, which is the number of its group too; undefined if it could not be started. */
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** The program may go on for so long, from now, without another word of this server. */
  allow(ms: number): void;
  /** SIGKILL ends the program and everything that it started; other signals reach the program alone. */
  kill(signal: NodeJS.Signals): void;
  /** Never rejects. Both null: the program could not be started. */
  readonly ended: Promise<SandboxedEnd>;
}

export interface SandboxedEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The limit that the program was stopped for, as the part of a sentence: `it had 300 processes, and may have 256`. */
  readonly limit?: string;
}
