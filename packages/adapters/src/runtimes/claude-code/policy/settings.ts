import { HostPattern } from "@skein/core";
import { JsonObject } from "@skein/protocol";
import { z } from "zod";

/**
 * What the operator of a server allows for Claude Code sessions. By default a request may choose only its prompt, its
 * tools and its limits, and nothing that gives access to the machine.
 */

/** The name in a request for a path or a command of the operator. */
const Name = z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, "Expected a short name of letters, digits, _, . and -.");
const AbsolutePath = z.string().startsWith("/", "Expected an absolute path.");

/** Variables that the server sets itself, and variables that could make other code run in the child's process. */
const RESERVED =
  /^(?:PATH|HOME|TMPDIR|IFS|ENV|BASH_ENV|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|LD_.*|DYLD_.*|NODE_OPTIONS|BUN_.*|CLAUDE_.*|ANTHROPIC_.*|IS_SANDBOX)$/;
const VariableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "Expected the name of a variable.")
  .refine((name) => !RESERVED.test(name), "This variable is reserved: requests cannot set it.");

/** Flags that would undo this policy. */
const FORBIDDEN = new Set([
  "dangerously-skip-permissions",
  "allow-dangerously-skip-permissions",
  "permission-mode",
  "permission-prompt-tool",
  "settings",
  "setting-sources",
  "mcp-config",
  "plugin-dir",
  "add-dir",
  "resume",
  "continue",
  "session-id",
  "fork-session",
]);
const Flag = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,63}$/, "Expected a flag without its dashes.")
  .refine((flag) => !FORBIDDEN.has(flag), "This flag cannot be allowed. Use the setting that does the same.");

const Variables = z.record(z.string(), z.string());

/** An MCP server of the operator. Its settings are used unchanged, including secrets, and never shown. */
const RegisteredMcpServer = z.union([
  z.strictObject({
    type: z.literal("stdio").default("stdio"),
    command: z.string().min(1),
    args: z.array(z.string()).default([]),
    /** A command with an environment runs in a separate sandbox, so that the session does not see its variables. */
    env: Variables.default({}),
    /** Folders and files that it may read in the sandbox, such as its own code. */
    reads: z.array(AbsolutePath).default([]),
    /** Hosts that a command with an environment may call. */
    hosts: z.array(HostPattern).default([]),
  }),
  z.strictObject({
    type: z.enum(["http", "sse"]),
    url: z.url({ protocol: /^https?$/ }),
    headers: Variables.default({}),
  }),
]);

/** The defaults are in `childPoolOptions` of `skein/src/serve/claude.ts`. */
const ProcessSettings = z.strictObject({
  /** How many runs may have a process at the same time. Other runs wait for their turn. */
  running: z.int().min(1).max(10_000).optional(),
  /** How many processes are kept after their run, so that the next prompt of their session is answered sooner. */
  idle: z.int().min(0).max(10_000).optional(),
  /** How many processes are started in advance for future sessions. */
  ahead: z.int().min(0).max(100).optional(),
  /** How long an idle process is kept after its run. */
  idleMinutes: z.number().positive().max(1440).optional(),
  /**
   * The memory that all processes may use together. Above it idle processes end, and runs wait while another run has a
   * process.
   */
  memoryMb: z.int().min(256).optional(),
});

export const ClaudeSettings = z.strictObject({
  /** Names of keys that may run Claude Code without the scope `admin`. */
  keys: z.array(z.string().min(1)).default([]),
  /** Folders whose subfolders requests may use as `cwd`, `add_dirs` and the sandbox's `allowed_paths`. */
  roots: z.array(AbsolutePath).default([]),
  /** Folders that requests may name, and whether sessions may write to them. */
  folders: z
    .record(
      Name,
      z.union([
        AbsolutePath.transform((path) => ({ path, access: "write" as const })),
        z.strictObject({ path: AbsolutePath, access: z.enum(["read", "write"]).default("write") }),
      ]),
    )
    .default({}),
  /** Variables that requests may set. */
  env: z.array(VariableName).default([]),
  /** Flags of `claude` that requests may give. */
  extraArgs: z.array(Flag).default([]),
  /** Settings of Claude Code that requests may name: a file, or the settings themselves. */
  settings: z.record(Name, z.union([AbsolutePath, JsonObject])).default({}),
  /** Plugins that requests may name: their folders. */
  plugins: z.record(Name, AbsolutePath).default({}),
  /** MCP servers that requests may name as their `command`. */
  mcpServers: z.record(Name, RegisteredMcpServer).default({}),
  /** Path of a `claude` to use instead of the SDK's own. */
  executable: AbsolutePath.optional(),
  /** Hosts that sessions in the sandbox may call: names, or `*.name` for all subdomains. */
  hosts: z.array(HostPattern).default([]),
  /** The limits of a process in the sandbox, including everything that it starts. */
  limits: z
    .strictObject({
      memoryBytes: z
        .int()
        .min(512 * 1024 * 1024, "Expected at least 512 MiB: Claude Code itself needs 300 MB.")
        .default(4 * 1024 ** 3),
      processes: z
        .int()
        .min(16, "Expected at least 16: Claude Code and its shell need several processes.")
        .default(256),
      fileBytes: z
        .int()
        .min(1024 * 1024)
        .default(4 * 1024 ** 3),
      temporaryBytes: z
        .int()
        .min(1024 * 1024)
        .default(256 * 1024 ** 2),
      /** The CPU time of all its processes together. */
      cpuSeconds: z
        .int()
        .min(10, "Expected at least 10 s: Claude Code itself needs CPU time to start.")
        .default(6 * 3600),
      /** The size of its working folder and of the other folders that it may write to. */
      folderBytes: z
        .int()
        .min(1024 * 1024)
        .default(10 * 1024 ** 3),
    })
    .prefault({}),
  /** Whether admin keys may run sessions with `bypassPermissions`, with the sandbox on. */
  bypassPermissions: z.boolean().default(false),
  /** Whether subagents may start subagents. */
  nestedAgents: z.boolean().default(false),
  /** How many processes of Claude Code there may be, and how much memory they may use. */
  processes: ProcessSettings.default({}),
});
export type ClaudeSettings = z.infer<typeof ClaudeSettings>;
