/**
 * The port through which the history of every agent is read. A source finds the sessions of one agent. Every function
 * of the library works on transcripts in Claude Code's format. Files in this format are read in place. A source with
 * another format translates each session into such a transcript, which is stored in a mirror.
 */
import type { TranscriptWriter } from "./transcript-writer.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment, home directories and platform that decide where agents have their data. */
export interface Places {
  readonly env: Environment;
  /** The home directory. Under WSL, also the home directories of Windows. */
  readonly homes: readonly string[];
  readonly platform: NodeJS.Platform;
}

export type HistorySource = InPlaceSource | TranslatedSource;

interface SourceBase {
  /** The name in `--source` and in the column `source`. */
  readonly name: SourceName;
  /** Returns the folders or database files in which the agent may have its data. They need not exist. */
  roots(places: Places): readonly string[];
  /** Returns true if this path looks like the agent's data. Must return false for the data of every other agent. */
  owns(path: string): boolean;
  /** Finds the sessions of a root. Reads names, sizes, times, or the index of a database, but no conversations. */
  units(root: string): Found;
}

/** A source whose data directories have Claude Code's format. Its files are not copied. */
export interface InPlaceSource extends SourceBase {
  readonly reads: "in-place";
}

export interface TranslatedSource extends SourceBase {
  readonly reads: "translated";
  /** Returns the time of the last activity. Needed only if the agent writes times in an unusual form. */
  lastTime?(unit: Unit): number | undefined;
  /** Writes one session. Unreadable parts are reported with `writer.damage`. */
  read(unit: Unit, writer: TranscriptWriter): void;
  /**
   * Finds the original line, document or row of a translated line. `from` is the field `from` of the translated line.
   */
  original(unit: Unit, from: string): Original;
}

/** The original of a translated line, unchanged. */
export interface Original {
  /** The file or the database. */
  readonly path: string;
  /** The text of the original, or undefined if the original was deleted. */
  readonly text: string | undefined;
}

/** The sessions of a root, and the paths that could not be read. */
export interface Found {
  readonly units: readonly Unit[];
  readonly problems: readonly Problem[];
}

/** A path that could not be read, or that has unknown content. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

/** The beginning of an id for a sum of several calls. Some agents report only sums for a turn, a run or a session. */
export const SUM = "sum:";

/** One session or subagent, before it is read. */
export interface Unit {
  /** The id that the agent uses. */
  readonly id: string;
  /** A fingerprint that changes whenever the session changes. */
  readonly stamp: string;
  /** The time of the last change. */
  readonly mtimeMs: number;
  readonly root: string;
  /** The file with the session, or the database. */
  readonly path: string;
  /** The file that contains times, if `path` has none. */
  readonly timed?: string;
  /** The size of the session, if it is only a part of its file. Default: the size of the file. */
  readonly bytes?: number;
  /** The folder and the parent session, if they are known without reading the session. */
  readonly head?: { readonly cwd: string | null; readonly parentId: string | null };
  /** Data that the source needs later, for reading the session. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** The names of all sources, in the order in which their `owns` is called for a path. */
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

/** The names of the agents in texts for people. */
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

/** Returns the name that texts for people show beside an answer of the model. */
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

/** Returns the command with which the agent continues a session. */
export function resumeCommand(source: SourceName, id: string): string {
  return resume[source](id);
}

export function isSourceName(name: string): name is SourceName {
  return (sourceNames as readonly string[]).includes(name);
}
