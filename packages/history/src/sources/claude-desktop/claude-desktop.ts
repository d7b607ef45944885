/**
 * Claude Desktop. Its sessions have Claude Code's format, but are stored elsewhere. Sessions of the Code tab are in Claude
 * Code's folder, and only a title and a project are stored here: such a session is shown once, as one of Desktop's.
 */
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { arrayOf, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { parseLine } from "../../scan/parse-line.ts";
import { documentAt, eachLine, entriesIn, filesNamed, isFile, isFolder, originalLine, stampOf } from "../port/files.ts";
import { appData } from "../port/places.ts";
import { SUM, type Found, type TranslatedSource, type Problem, type Unit } from "../port/source.ts";
import type { TranscriptWriter } from "../port/transcript-writer.ts";
import { usualDataPaths } from "../claude-code/discover/data-paths.ts";

const sidecarName = /^local_[0-9a-f-]+\.json$/;

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
    return [...appData(places, "Claude"), ...stores.map((path) => join(path, packaged))];
  },
  owns: (path) => isFolder(join(path, "local-agent-mode-sessions")) || isFolder(join(path, "claude-code-sessions")),
  units: findSessions,
  read: readSession,
  original: ({ path }, from) => originalLine(path, from),
};

function findSessions(root: string): Found {
  const problems: Problem[] = [];
  const units: Unit[] = [];
  for (const path of filesNamed(join(root, "local-agent-mode-sessions"), sidecarName, problems, 2))
    units.push(...coworkUnits(root, path, problems));
  const transcripts = transcriptsFor(root);
  for (const path of filesNamed(join(root, "claude-code-sessions"), sidecarName, problems, 2)) {
    const sidecar = documentAt(path);
    const id = stringOf(sidecar?.["cliSessionId"]);
    const transcript = id === null ? undefined : transcripts.get(`${id}.jsonl`);
    if (!sidecar || id === null || !transcript) continue;
    units.push(...unitsOf(root, { path, sidecar, id, transcript, claims: transcript }));
  }
  return { units, problems };
}

/** The transcripts of Claude Code by their names. Under WSL, those of Windows are in the home folder of the same user. */
function transcriptsFor(root: string): ReadonlyMap<string, string> {
  const windowsHome = /^(\/mnt\/.+?)\/AppData\//.exec(root)?.[1];
  const homes = windowsHome === undefined ? [homedir()] : [windowsHome, homedir()];
  const found = new Map<string, string>();
  for (const { path } of usualDataPaths(process.env, homes))
    for (const project of entriesIn(join(path, "projects")))
      for (const { name } of entriesIn(join(path, "projects", project.name)))
        if (!found.has(name)) found.set(name, join(path, "projects", project.name, name));
  return found;
}

/** A sandbox may contain several transcripts; the one that the sidecar names is the session. */
function coworkUnits(root: string, path: string, problems: Problem[]): readonly Unit[] {
  const sidecar = documentAt(path);
  const projects = join(path.slice(0, -".json".length), ".claude", "projects");
  const named = stringOf(sidecar?.["cliSessionId"]);
  const found = filesNamed(projects, /\.jsonl$/, problems, 1);
  if (found.length === 0) return auditUnit(root, path, sidecar ?? {});
  return found.flatMap((transcript) => {
    const id = basename(transcript, ".jsonl");
    return unitsOf(root, { path, sidecar: id === named || found.length === 1 ? (sidecar ?? {}) : {}, id, transcript });
  });
}

/** Without a transcript, only the audit log is left. */
function auditUnit(root: string, path: string, sidecar: Value): readonly Unit[] {
  const audit = join(path.slice(0, -".json".length), "audit.jsonl");
  const id = stringOf(sidecar["cliSessionId"]) ?? basename(path, ".json");
  return isFile(audit)
    ? [
        {
          ...unitsOf(root, { path, sidecar, id, transcript: audit })[0],
          extra: { ...headOf(sidecar), audit: true },
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
  // The sidecar is rewritten at every focus, so only its shown fields count as a change.
  const main = {
    id,
    root,
    path: transcript,
    mtimeMs,
    stamp: `${stamp} ${JSON.stringify(head)}`,
    extra: { ...head, sidecar: path, ...(claims && { claims }) },
  };
  const folder = join(transcript.slice(0, -".jsonl".length), "subagents");
  const agents = filesNamed(folder, /^agent-.*\.jsonl$/, [], 2).map((agent): Unit => {
    const agentId = basename(agent, ".jsonl").slice("agent-".length);
    return { id: agentId, root, path: agent, ...stampOf(agent), extra: { parent: id, ...head } };
  });
  return [main, ...agents];
}

/** In the editor's tab, the project is the folder that was opened; in a sandbox, it is the folder that the person chose. */
function headOf(sidecar: Value): {
  readonly title: string | null;
  readonly cwd: string | null;
  readonly created: number | null;
} {
  const [chosen] = arrayOf(sidecar["userSelectedFolders"]);
  const cwd = stringOf(chosen) ?? stringOf(sidecar["originCwd"]) ?? stringOf(sidecar["cwd"]);
  return { title: stringOf(sidecar["title"]), cwd, created: numberOf(sidecar["createdAt"]) };
}

function readSession(unit: Unit, writer: TranscriptWriter): void {
  const { title, cwd, parent, audit } = unit.extra ?? {};
  writer.place({ cwd: stringOf(cwd) });
  if (typeof parent === "string") writer.subagentOf({ sessionId: parent });
  // This line is written first, so that readers that use the first folder find this folder instead of the sandbox's.
  if (typeof cwd === "string") writer.copy(JSON.stringify({ type: "relocated", relocatedCwd: cwd, cwd }));
  eachLine(unit.path, (bytes, _number, unterminated) => {
    const line = bytes.toString("utf8");
    if (audit === true) writeAudit(line, unterminated, writer);
    else if (unterminated && !isRecord(line)) writer.damage(line, true);
    else writer.copy(line);
  });
  if (parent === undefined) writer.title(stringOf(title), "sidecar");
}

/** A line without a line feed is a record, or the beginning of one that is still being written. */
function isRecord(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

/** A line of the log is a message of the SDK's stream. Its token counts are placeholders, except in results. */
function writeAudit(line: string, unterminated: boolean, writer: TranscriptWriter): void {
  const place = { line: 1, offset: 0, unterminated };
  for (const { value } of parseLine(Buffer.from(line), place, ({ kind }) => writer.damage(line, kind === "torn"))) {
    const { _audit_timestamp: at, type } = value;
    const from = stringOf(value["uuid"]) ?? "audit";
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
        }),
      );
    } else writer.other(String(type), value, { at: stringOf(at), from });
  }
}
