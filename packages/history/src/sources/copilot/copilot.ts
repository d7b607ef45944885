/** GitHub Copilot CLI: events in `session-state`, usage in `session-store.db`, in the events, or in OpenTelemetry files. */
import { basename, join, sep } from "node:path";
import { objectOf, stringOf } from "../../model/value.ts";
import {
  eachRecord,
  entriesIn,
  fileStamp,
  firstRecord,
  isFile,
  isFolder,
  originalFile,
  originalLine,
  stampOf,
  textAt,
} from "../port/files.ts";
import type { Found, TranslatedSource, Problem, Unit } from "../port/source.ts";
import { createEvents, placeOf } from "./events.ts";
import { callRows, originalCall, type CallRow } from "./usage-rows.ts";
import { chatSpans } from "./spans.ts";

const marks = ['"session.', '"assistant.message"'];

export const copilot: TranslatedSource = {
  name: "copilot",
  reads: "translated",
  roots: ({ env, homes }) =>
    env["COPILOT_HOME"] ? [env["COPILOT_HOME"]] : homes.map((home) => join(home, ".copilot")),
  owns: (path) => isFolder(join(path, "session-state")),
  units: findSessions,
  read(unit, writer) {
    if (writer.wants === "head") {
      const first = firstRecord(unit.path);
      if (first?.["type"] === "session.start") writer.place(placeOf(objectOf(first["data"])));
      return;
    }
    const { rows, spans } = known.get(unit.root) ?? usageOf(unit.root);
    const events = createEvents(unit.id, writer, { rows: rows.get(unit.id) ?? [], spans: spans.get(unit.id) ?? [] });
    eachRecord(unit.path, { writer, marks }, (event, from) => events.add(event, from));
    events.finish(stringOf(unit.extra?.["title"]));
  },
  original({ root, path }, from) {
    if (from === "workspace.yaml") return originalFile(join(path, "..", from));
    const [, row] = /^assistant_usage_events\/(.*)$/.exec(from) ?? [];
    if (row !== undefined) return originalCall(join(root, "session-store.db"), row);
    const [, file, line] = /^file (.*) (line \d+)$/.exec(from) ?? [];
    return originalLine(file ?? path, line ?? from);
  },
};

function findSessions(root: string): Found {
  const problems: Problem[] = [];
  const folder = join(root, "session-state");
  const { rows, spans } = usageOf(root, problems);
  const entries = entriesIn(folder, problems);
  const units = new Map<string, Unit>();
  const add = (id: string, path: string, title: () => string | null): void => {
    const found = units.has(id) ? undefined : fileStamp(path, problems);
    if (!found) return;
    const counted = `${rows.get(id)?.length ?? 0} ${spans.get(id)?.length ?? 0}`;
    const [{ mtimeMs }, name] = [found, title()];
    units.set(id, {
      id,
      root,
      path,
      mtimeMs,
      stamp: `${found.stamp} ${name ?? ""} ${counted}`,
      extra: { title: name },
    });
  };
  for (const entry of entries) {
    const { name } = entry;
    const own = `${folder}${sep}${name}${sep}`;
    if (entry.isDirectory()) add(name, `${own}events.jsonl`, () => nameIn(`${own}workspace.yaml`));
  }
  // Earlier versions wrote one file for each session. A folder of the same name replaces it.
  for (const { name } of entries)
    if (name.endsWith(".jsonl")) add(basename(name, ".jsonl"), join(folder, name), () => null);
  return { units: [...units.values()], problems };
}

/** One key of a flat YAML file. */
function nameIn(path: string): string | null {
  // An exception for each session without the file takes longer than looking for it.
  if (!isFile(path)) return null;
  try {
    const text = /^name:[ \t]*(.+)$/m.exec(textAt(path))?.[1]?.trim();
    return text ? text.replace(/^(["'])(.*)\1$/, "$2") : null;
  } catch {
    return null;
  }
}

interface Usage {
  readonly rows: ReadonlyMap<string, readonly CallRow[]>;
  readonly spans: ReadonlyMap<string, readonly CallRow[]>;
}

const known = new Map<string, Usage & { readonly stamp: string }>();

function usageOf(root: string, problems: Problem[] = []): Usage {
  const database = join(root, "session-store.db");
  const given = process.env["COPILOT_OTEL_FILE_EXPORTER_PATH"];
  const files = entriesIn(join(root, "otel")).flatMap(({ name }) =>
    name.endsWith(".jsonl") ? [join(root, "otel", name)] : [],
  );
  const paths = given && isFile(given) && !files.includes(given) ? [...files, given] : files;
  const { stamp } = stampOf(database, `${database}-wal`, ...paths);
  const before = known.get(root);
  if (before?.stamp === stamp) return before;
  const problemsBefore = problems.length;
  const usage = { stamp, rows: callRows(database, problems), spans: chatSpans(paths, problems) };
  // A file that could not be read is tried again, and its problem is reported again.
  if (problems.length === problemsBefore) known.set(root, usage);
  else known.delete(root);
  return usage;
}
