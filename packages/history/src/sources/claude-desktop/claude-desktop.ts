/**
 * Reads the sessions of Claude Desktop, which have the format of Claude Code.
 *
 * Transcripts of the Code tab are in the folder of Claude Code. Claude Desktop stores only a title and a project for
 * them. Such a session is listed once, as a session of Claude Desktop.
 */
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { arrayOf, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { parseLine, type LinePlace } from "../../scan/parse-line.ts";
import { documentAt, eachLine, entriesIn, filesNamed, isFile, isFolder, originalLine, stampOf } from "../port/files.ts";
import { appData } from "../port/places.ts";
import { SUM, type Found, type Original, type Problem, type TranslatedSource, type Unit } from "../port/source.ts";
import type { TranscriptWriter } from "../port/transcript-writer.ts";
import { usualDataPaths } from "../claude-code/discover/data-paths.ts";

/**
 * The origin (`from`) of a translated line that comes from a sidecar, which is the file with the title and the folders
 * of a session.
 */
const SIDECAR = "sidecar";
const sidecarName = /^local_[0-9a-f-]+\.json$/;
const sandboxName = /^(local_[\w-]+|[0-9a-f]{8})$/;

export const claudeDesktop: TranslatedSource = {
  name: "claude-desktop",
  reads: "translated",
  roots(places) {
    const { env, homes, platform } = places;
    const store = env["LOCALAPPDATA"];
    const packaged = join("Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming", "Claude");
    const stores =
      platform === "win32"
        ? [store].filter((path) => path !== undefined)
        : homes.filter((home) => home.startsWith("/mnt/")).map((home) => join(home, "AppData", "Local"));
    // `Claude-3p` is the folder of installations in which a company provides the models.
    return [
      ...appData(places, "Claude"),
      ...appData(places, "Claude-3p"),
      ...stores.flatMap((path) => [join(path, packaged), join(path, "Claude-3p")]),
    ];
  },
  owns: (path) => isFolder(join(path, "local-agent-mode-sessions")) || isFolder(join(path, "claude-code-sessions")),
  units: findSessions,
  read: readSession,
  original: ({ path, extra }, from) =>
    from === SIDECAR ? originalSidecar(String(extra?.[SIDECAR])) : originalLine(path, from),
};

function findSessions(root: string): Found {
  const problems: Problem[] = [];
  const cowork = accountFolders(join(root, "local-agent-mode-sessions"), problems);
  const code = accountFolders(join(root, "claude-code-sessions"), problems);
  const shared = code.length > 0 ? transcriptsFor(root) : new Map<string, string>();
  const units = [
    ...cowork.flatMap((folder) => coworkUnits(root, folder, problems)),
    ...code.flatMap((folder) => codeUnits(root, folder, shared)),
  ];
  return { units, problems };
}

/** Returns the transcripts of Claude Code by name. Under WSL, the home folder of the Windows user comes first. */
function transcriptsFor(root: string): ReadonlyMap<string, string> {
  const windowsHome = /^(\/mnt\/.+?)\/AppData\//.exec(root)?.[1];
  const homes = windowsHome === undefined ? [homedir()] : [windowsHome, homedir()];
  const found = new Map<string, string>();
  for (const { path } of usualDataPaths(process.env, homes))
    for (const [name, transcript] of transcriptsIn(join(path, "projects")))
      if (!found.has(name)) found.set(name, transcript);
  return found;
}

/**
 * Returns the folders with sessions. Each account has one folder per organization. This folder may contain the folder
 * `agent`, which has sessions of agents.
 */
function accountFolders(base: string, problems: Problem[]): readonly string[] {
  const foldersIn = (folder: string): readonly string[] =>
    entriesIn(folder, problems).flatMap((entry) => (entry.isDirectory() ? [join(folder, entry.name)] : []));
  return foldersIn(base)
    .flatMap(foldersIn)
    .flatMap((folder) => [folder, ...(isFolder(join(folder, "agent")) ? [join(folder, "agent")] : [])]);
}

/** Returns the sandbox folder of a sidecar. Newer versions shorten the name of the folder. */
function sandboxOf(sidecar: string): string {
  const own = sidecar.slice(0, -".json".length);
  const short = join(dirname(sidecar), basename(own).slice("local_".length, "local_".length + 8));
  return !isFolder(own) && isFolder(short) ? short : own;
}

function coworkUnits(root: string, folder: string, problems: Problem[]): readonly Unit[] {
  const entries = entriesIn(folder, problems);
  const sidecars = entries.flatMap((entry) =>
    entry.isFile() && sidecarName.test(entry.name) ? [join(folder, entry.name)] : [],
  );
  const claimed = new Set(sidecars.map(sandboxOf));
  // The sandboxes of dispatched agents have no sidecar.
  const alone = entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() && sandboxName.test(entry.name) && !claimed.has(path) ? [path] : [];
  });
  return [
    ...sidecars.flatMap((path) =>
      sandboxUnits(root, { path, sidecar: documentAt(path), sandbox: sandboxOf(path) }, problems),
    ),
    ...alone.flatMap((sandbox) =>
      sandboxUnits(root, { path: `${sandbox}.json`, sidecar: undefined, sandbox }, problems),
    ),
  ];
}

interface Sandbox {
  readonly path: string;
  readonly sidecar: Value | undefined;
  readonly sandbox: string;
}

/** A sandbox may contain several transcripts. The sidecar contains the id of the session's transcript. */
function sandboxUnits(root: string, { path, sidecar, sandbox }: Sandbox, problems: Problem[]): readonly Unit[] {
  const named = stringOf(sidecar?.["cliSessionId"]);
  const found = filesNamed(join(sandbox, ".claude", "projects"), /\.jsonl$/, problems, 1);
  if (found.length === 0) return auditUnit(root, { path, sidecar, sandbox });
  return found.flatMap((transcript) => {
    const id = basename(transcript, ".jsonl");
    return unitsOf(root, { path, sidecar: id === named || found.length === 1 ? (sidecar ?? {}) : {}, id, transcript });
  });
}

/** Returns the transcripts of Claude Code in a folder with projects, by their file names. */
function transcriptsIn(projects: string): ReadonlyMap<string, string> {
  return new Map(
    entriesIn(projects).flatMap(({ name }) =>
      entriesIn(join(projects, name)).map((entry): [string, string] => [entry.name, join(projects, name, entry.name)]),
    ),
  );
}

/**
 * Finds the sessions of the Code tab. A transcript is in the session's folder, in Claude Code's folder, or in the
 * folder of imported sessions.
 */
function codeUnits(root: string, folder: string, shared: ReadonlyMap<string, string>): readonly Unit[] {
  return entriesIn(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    const sidecar = entry.isFile() && sidecarName.test(entry.name) ? documentAt(path) : undefined;
    const id = stringOf(sidecar?.["cliSessionId"]);
    if (!sidecar || id === null) return [];
    const own = transcriptsIn(join(sandboxOf(path), ".claude", "projects")).get(`${id}.jsonl`);
    const claims = own === undefined ? shared.get(`${id}.jsonl`) : undefined;
    const imported = join(folder, "imported-staging", `${id}.jsonl`);
    const transcript = own ?? claims ?? (isFile(imported) ? imported : undefined);
    if (transcript === undefined) return [];
    return unitsOf(root, { path, sidecar, id, transcript, ...(claims !== undefined && { claims }) });
  });
}

/** Returns the session of a sandbox without a transcript. Its messages are read from the audit log. */
function auditUnit(root: string, { path, sidecar = {}, sandbox }: Sandbox): readonly Unit[] {
  const audit = join(sandbox, "audit.jsonl");
  const id = stringOf(sidecar["cliSessionId"]) ?? basename(path, ".json");
  return isFile(audit)
    ? [
        {
          ...unitsOf(root, { path, sidecar, id, transcript: audit })[0],
          extra: { ...headOf(sidecar), [SIDECAR]: path, audit: true },
        } as Unit,
      ]
    : [];
}

interface DesktopSession {
  readonly path: string;
  readonly sidecar: Value;
  readonly id: string;
  readonly transcript: string;
  readonly claims?: string;
}

function unitsOf(root: string, { path, sidecar, id, transcript, claims }: DesktopSession): readonly Unit[] {
  const head = headOf(sidecar);
  const { stamp, mtimeMs } = stampOf(transcript);
  // Claude Desktop rewrites the sidecar whenever the session gets the focus, so only a change of the title, the folder
  // or the creation time counts.
  const main = {
    id,
    root,
    path: transcript,
    mtimeMs,
    stamp: `${stamp} ${JSON.stringify(head)}`,
    extra: { ...head, [SIDECAR]: path, ...(claims && { claims }) },
  };
  const folder = join(transcript.slice(0, -".jsonl".length), "subagents");
  const agents = filesNamed(folder, /^agent-.*\.jsonl$/, [], 2).map((agent): Unit => {
    const agentId = basename(agent, ".jsonl").slice("agent-".length);
    return { id: agentId, root, path: agent, ...stampOf(agent), extra: { parent: id, [SIDECAR]: path, ...head } };
  });
  return [main, ...agents];
}

/**
 * Returns the title and the project of a session. In the Code tab, the project is the opened folder. In a sandbox, it
 * is the folder that the person chose.
 */
function headOf(sidecar: Value): {
  readonly title: string | null;
  readonly cwd: string | null;
  readonly created: number | null;
} {
  const [chosen] = arrayOf(sidecar["userSelectedFolders"]);
  const cwd = stringOf(chosen) ?? stringOf(sidecar["originCwd"]) ?? stringOf(sidecar["cwd"]);
  return { title: stringOf(sidecar["title"]), cwd, created: numberOf(sidecar["createdAt"]) };
}

/** The fields of a sidecar that Skein shows. Other fields contain the system prompt and the secrets of MCP servers. */
const shown = ["sessionId", "cliSessionId", "title", "cwd", "originCwd", "userSelectedFolders", "createdAt"] as const;

function originalSidecar(path: string): Original {
  const sidecar = documentAt(path);
  const fields = shown.flatMap((name) => (sidecar?.[name] === undefined ? [] : [[name, sidecar[name]] as const]));
  return { path, text: sidecar && JSON.stringify(Object.fromEntries(fields)) };
}

function readSession(unit: Unit, writer: TranscriptWriter): void {
  const { title, cwd, parent, audit } = unit.extra ?? {};
  writer.place({ cwd: stringOf(cwd) });
  if (typeof parent === "string") writer.subagentOf({ sessionId: parent });
  // This line comes first, because readers use the first folder in a transcript, which would be the folder of the
  // sandbox.
  if (typeof cwd === "string")
    writer.copy(JSON.stringify({ type: "relocated", relocatedCwd: cwd, cwd, from: SIDECAR }));
  eachLine(unit.path, (bytes, number, unterminated) => {
    const line = bytes.toString("utf8");
    if (audit === true) writeAudit(line, { line: number, offset: 0, unterminated }, writer);
    else if (unterminated && !isRecord(line)) writer.damage(line, true);
    else writer.copy(line);
  });
  if (parent === undefined) writer.title(stringOf(title), SIDECAR);
}

/** Returns false if the line is incomplete because Claude Desktop is still writing it. */
function isRecord(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

/** Writes a line of the audit log, which is a message of the SDK's stream. Only results have real token counts. */
function writeAudit(line: string, place: LinePlace, writer: TranscriptWriter): void {
  const from = `line ${place.line}`;
  for (const { value } of parseLine(Buffer.from(line), place, ({ kind }) => writer.damage(line, kind === "torn"))) {
    const { _audit_timestamp: at, type } = value;
    if (type === "result") {
      for (const [model, usage] of Object.entries(objectOf(value["modelUsage"]))) {
        const of = (key: string): number => numberOf(objectOf(usage)[key]) ?? 0;
        const tokens = {
          input: of("inputTokens"),
          output: of("outputTokens"),
          cacheRead: of("cacheReadInputTokens"),
          cacheWrite: of("cacheCreationInputTokens"),
        };
        writer.usage(`${SUM}audit:${String(value["session_id"])}:${String(at)}:${model}`, model, tokens, {
          at: stringOf(at),
          from,
        });
      }
    } else if (type === "user" || type === "assistant") {
      const { usage: _placeholder, ...message } = objectOf(value["message"]);
      writer.copy(
        JSON.stringify({
          parentUuid: writer.last,
          ...value,
          message,
          timestamp: at,
          isSidechain: value["parent_tool_use_id"] !== null,
          from,
        }),
      );
    } else writer.other(String(type), value, { at: stringOf(at), from });
  }
}
