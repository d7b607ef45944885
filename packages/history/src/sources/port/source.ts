/**
 * The port through which the history of every agent is read. A source knows where its sessions are. Every function of
 * the library works on transcripts in Claude Code's format. A source whose files have this format is read in place; any
 * other source translates each session into such lines, which are stored in a mirror.
 */
import type { TranscriptWriter } from "./transcript-writer.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where to look for data. Tests pass their own. */
export interface Places {
  readonly env: Environment;
  /** The home directory; under WSL also those of Windows. */
  readonly homes: readonly string[];
  readonly platform: NodeJS.Platform;
}

export type HistorySource = InPlaceSource | TranslatedSource;

interface SourceBase {
  /** The name in `--source` and in the column `source`. */
  readonly name: SourceName;
  /** The folders (or database files) in which the agent may have its data. They need not exist. */
  roots(places: Places): readonly string[];
  /** Whether this path looks like the agent's data. Must be false for the data of every other agent. */
  owns(path: string): boolean;
  /** The sessions of a root. Reads only names, sizes and times, or the index of a database, but no conversations. */
  units(root: string): Found;
}

/** A source whose data directories have Claude Code's format. Its files are not copied. */
export interface InPlaceSource extends SourceBase {
  readonly reads: "in-place";
}

/** A source with its own format. */
export interface TranslatedSource extends SourceBase {
  readonly reads: "translated";
  /** The time of the last activity. Only needed if the agent writes times in another form than most agents. */
  lastTime?(unit: Unit): number | undefined;
  /** Writes one session. Unreadable parts are reported with `writer.damage`. */
  read(unit: Unit, writer: TranscriptWriter): void;
  /** Finds the original line, document or row of a translated line. `from` is that line's field `from`. */
  original(unit: Unit, from: string): Original;
}

/** What a line was read from, as the agent wrote it. */
export interface Original {
  /** The file or the database. */
  readonly path: string;
  /** Undefined if it no longer exists. */
  readonly text: string | undefined;
}

/** The sessions of a root, and what could not be read. */
export interface Found {
  readonly units: readonly Unit[];
  readonly problems: readonly Problem[];
}

/** A path that could not be read, or whose content is unknown. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

/** The id of a sum of several calls begins with this. Some agents report only sums: for a turn, a run or a session. */
export const SUM = "sum:";

/** One session or subagent, before it is read. */
export interface Unit {
  /** Its id as the agent writes it. */
  readonly id: string;
  /** A fingerprint that changes whenever the session changes. */
  readonly stamp: string;
  /** When it last changed. */
  readonly mtimeMs: number;
  readonly root: string;
  /** The file with the session, or the database. */
  readonly path: string;
  /** The file with its times, if `path` has none. */
  readonly timed?: string;
  /** Its size, if the session is only a part of its file. Default: the size of the file. */
  readonly bytes?: number;
  /** Its folder and the session that it is a subagent of, if they are known without reading it. */
  readonly head?: { readonly cwd: string | null; readonly parentId: string | null };
  /** Further data that the source needs to read it. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** The names of all sources, in the order in which a path is checked. */
export const sourceNames = [
  "claude-desktop",
  "claude-code",
  "copilot",
  "cursor",
  "codex",
  "grok",
  "gemini",
  "opencode",
  "pi",
  "qwen",
  "droid",
  "kimi",
  "amp",
  "goose",
] as const;

export type SourceName = (typeof sourceNames)[number];

/** The agents' names as people write them. */
export const agentTitles: Readonly<Record<SourceName, string>> = {
  "claude-desktop": "Claude Desktop",
  "claude-code": "Claude Code",
  copilot: "GitHub Copilot CLI",
  cursor: "Cursor",
  codex: "Codex",
  grok: "Grok",
  gemini: "Gemini CLI",
  opencode: "opencode",
  pi: "pi",
  qwen: "Qwen Code",
  droid: "Droid",
  kimi: "Kimi",
  amp: "Amp",
  goose: "Goose",
};

/** Who answers in a session of this agent. */
export function speakerOf(source: SourceName): string {
  return source === "claude-code" || source === "claude-desktop" ? "Claude" : agentTitles[source];
}

const resume: Readonly<Record<SourceName, (id: string) => string>> = {
  "claude-desktop": (id) => `claude --resume ${id}`,
  "claude-code": (id) => `claude --resume ${id}`,
  copilot: (id) => `copilot --resume=${id}`,
  cursor: (id) => `cursor-agent --resume=${id}`,
  codex: (id) => `codex resume ${id}`,
  grok: (id) => `grok -r ${id}`,
  gemini: (id) => `gemini --resume ${id}`,
  opencode: (id) => `opencode --session ${id}`,
  pi: (id) => `pi --session ${id}`,
  qwen: (id) => `qwen --resume ${id}`,
  droid: () => "droid",
  kimi: (id) => `kimi --session ${id}`,
  amp: (id) => `amp threads continue ${id}`,
  goose: (id) => `goose session --resume --session-id ${id}`,
};

/** The command that continues a session with its own agent. */
export function resumeCommand(source: SourceName, id: string): string {
  return resume[source](id);
}

export function isSourceName(name: string): name is SourceName {
  return (sourceNames as readonly string[]).includes(name);
}
