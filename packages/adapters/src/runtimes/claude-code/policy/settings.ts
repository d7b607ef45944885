import { HostPattern } from "@skein/core";
import { JsonObject } from "@skein/protocol";
import { z } from "zod";

/**
 * The operator's settings for Claude Code sessions. By default, a request may choose only its prompt, tools and limits,
 * and gets no access to the machine.
 */

/** The name under which a request uses a path or a command of the operator. */
const Name = z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, "Expected a short name of letters, digits, _, . and -.");
const AbsolutePath = z.string().startsWith("/", "Expected an absolute path.");

/** Variables that the server sets, or that could run other code in the child's process. */
const RESERVED =
  /^(?:PATH|HOME|TMPDIR|IFS|ENV|BASH_ENV|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|LD_.*|DYLD_.*|NODE_OPTIONS|BUN_.*|CLAUDE_.*|ANTHROPIC_.*|IS_SANDBOX)$/;
const VariableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "Expected the name of a variable.")
  .refine((name) => !RESERVED.test(name), "This variable is reserved: requests cannot set it.");

/** Flags that would bypass the policy. */
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

/** An MCP server of the operator. Its settings may contain secrets and are never shown. */
const RegisteredMcpServer = z.union([
  z.strictObject({
    type: z.literal("stdio").default("stdio"),
    command: z.string().min(1),
    args: z.array(z.string()).default([]),
    /**
     * Variables for the command. With variables, the command runs in a separate sandbox, so that the session cannot
     * read them.
     */
    env: Variables.default({}),
    /** Folders and files that the command may read in the sandbox, such as its program files. */
    reads: z.array(AbsolutePath).default([]),
    /** Hosts that the command may call, if it has variables. */
    hosts: z.array(HostPattern).default([]),
  }),
  z.strictObject({
    type: z.enum(["http", "sse"]),
    url: z.url({ protocol: /^https?$/ }),
    headers: Variables.default({}),
  }),
]);

/** Limits of processes. `childPoolOptions` in `skein/src/serve/claude.ts` has the defaults. */
const ProcessSettings = z.strictObject({
  /** The largest number of runs with a process. Other runs wait for their turn. */
  running: z.int().min(1).max(10_000).optional(),
  /** The number of processes that are kept after their run, so that the next prompt is answered sooner. */
  idle: z.int().min(0).max(10_000).optional(),
  /** The number of processes that are started in advance for future sessions. */
  ahead: z.int().min(0).max(100).optional(),
  /** An idle process ends after this time. */
  idleMinutes: z.number().positive().max(1440).optional(),
  /** The memory limit of all processes together. Above it, idle processes end, and further runs wait. */
  memoryMb: z.int().min(256).optional(),
});

export const ClaudeSettings = z.strictObject({
  /** Names of API keys that may run Claude Code without the scope `admin`. */
  keys: z.array(z.string().min(1)).default([]),
  /** Requests may use these folders and their subfolders as `cwd`, `add_dirs` and the sandbox's `allowed_paths`. */
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
  /** Settings of Claude Code that requests may name. The value is a file or an object. */
  settings: z.record(Name, z.union([AbsolutePath, JsonObject])).default({}),
  /** The folders of plugins that requests may name. */
  plugins: z.record(Name, AbsolutePath).default({}),
  /** MCP servers that requests may name as their `command`. */
  mcpServers: z.record(Name, RegisteredMcpServer).default({}),
  /** The path of another `claude`. Default: the SDK's `claude`. */
  executable: AbsolutePath.optional(),
  /** Hosts that sessions in the sandbox may call. `*.name` allows all subdomains. */
  hosts: z.array(HostPattern).default([]),
  /** The limits of a process in the sandbox, together with the processes that it starts. */
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
      /** The CPU time of all processes in the sandbox together. */
      cpuSeconds: z
        .int()
        .min(10, "Expected at least 10 s: Claude Code itself needs CPU time to start.")
        .default(6 * 3600),
      /** The size of all folders that the process may write to. */
      folderBytes: z
        .int()
        .min(1024 * 1024)
        .default(10 * 1024 ** 3),
    })
    .prefault({}),
  /** Whether admin keys may use `bypassPermissions` in the sandbox. */
  bypassPermissions: z.boolean().default(false),
  /** Whether subagents may start subagents. */
  nestedAgents: z.boolean().default(false),
  /** Limits for the number of processes and their memory. */
  processes: ProcessSettings.default({}),
});
export type ClaudeSettings = z.infer<typeof ClaudeSettings>;
