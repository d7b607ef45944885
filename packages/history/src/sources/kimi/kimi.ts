/**
 * Reads the sessions of Kimi CLI and its successor Kimi Code. Each session has a folder with a log of protocol
 * messages.
 */
import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { arrayOf, objectOf, stringOf } from "../../model/value.ts";
import { documentAt, eachRecord, entriesIn, isFile, originalFile, originalLine, stampOf } from "../port/files.ts";
import type { Found, TranslatedSource, Problem, Unit } from "../port/source.ts";
import { createCliWire } from "./cli-wire.ts";
import { createCodeWire } from "./code-wire.ts";

const marks = ["StatusUpdate", "usage.record", "llm.request"];

export const kimi: TranslatedSource = {
  name: "kimi",
  reads: "translated",
  roots: ({ env, homes }) => [
    ...(env["KIMI_SHARE_DIR"] ? [env["KIMI_SHARE_DIR"]] : homes.map((home) => join(home, ".kimi"))),
    ...(env["KIMI_CODE_HOME"] ? [env["KIMI_CODE_HOME"]] : homes.map((home) => join(home, ".kimi-code"))),
  ],
  owns: (path) =>
    entriesIn(join(path, "sessions")).some(
      ({ name }) =>
        /^wd_.+_[0-9a-f]{12}$/.test(name) ||
        (/^[0-9a-f]{32}$/.test(name) &&
          entriesIn(join(path, "sessions", name)).some((entry) =>
            isFile(join(path, "sessions", name, entry.name, "wire.jsonl")),
          )),
    ),
  units: findSessions,
  read(unit, writer) {
    const { cwd, title, parent, agent } = unit.extra ?? {};
    writer.place({ cwd: stringOf(cwd) });
    if (typeof parent === "string") writer.subagentOf({ sessionId: parent });
    const wire = typeof agent === "string" ? createCodeWire(unit.id, agent, writer) : createCliWire(unit.id, writer);
    eachRecord(unit.path, { writer, marks }, (record, from) => wire.add(record, from));
    wire.finish();
    writer.title(stringOf(title), "state.json");
  },
  original: ({ path, extra }, from) =>
    from === "state.json" ? originalFile(String(extra?.["state"])) : originalLine(path, from),
};

function findSessions(root: string): Found {
  const problems: Problem[] = [];
  const folders = workFolders(root);
  const units: Unit[] = [];
  for (const project of entriesIn(join(root, "sessions"), problems)) {
    if (!project.isDirectory()) continue;
    for (const entry of entriesIn(join(root, "sessions", project.name), problems)) {
      const folder = join(root, "sessions", project.name, entry.name);
      if (!entry.isDirectory()) continue;
      if (isFile(join(folder, "wire.jsonl"), problems))
        units.push(...cliUnits(root, folder, folders.get(project.name) ?? null));
      else units.push(...codeUnits(root, folder));
    }
  }
  return { units, problems };
}

/** Returns the project folders by the MD5 hash of their paths, which Kimi CLI uses as names. */
function workFolders(root: string): ReadonlyMap<string, string> {
  const known = arrayOf(documentAt(join(root, "kimi.json"))?.["work_dirs"]);
  return new Map(
    known.flatMap((entry): [string, string][] => {
      const path = stringOf(objectOf(entry)["path"]);
      return path === null ? [] : [[createHash("md5").update(path).digest("hex"), path]];
    }),
  );
}

function cliUnits(root: string, folder: string, cwd: string | null): readonly Unit[] {
  const id = basename(folder);
  const statePath = join(folder, "state.json");
  const state = documentAt(statePath);
  const title = stringOf(state?.["custom_title"]) ?? stringOf(state?.["title"]);
  const main = { id, root, path: join(folder, "wire.jsonl"), extra: { cwd, title, state: statePath } };
  const children = entriesIn(join(folder, "subagents")).flatMap(({ name }) => {
    const path = join(folder, "subagents", name, "wire.jsonl");
    return isFile(path) ? [{ id: `${id}-${name}`, root, path, extra: { cwd, parent: id } }] : [];
  });
  return [main, ...children].map((unit) => ({ ...unit, ...stampOf(unit.path, statePath) }));
}

function codeUnits(root: string, folder: string): readonly Unit[] {
  const statePath = join(folder, "state.json");
  const state = documentAt(statePath) ?? {};
  const id = stringOf(state["id"]) ?? basename(folder);
  const cwd = stringOf(state["cwd"]) ?? stringOf(state["workDir"]);
  return entriesIn(join(folder, "agents")).flatMap(({ name }): Unit[] => {
    const path = join(folder, "agents", name, "wire.jsonl");
    if (!isFile(path)) return [];
    const isMain = name === "main";
    const of = isMain ? { title: state["title"], state: statePath } : { parent: id };
    const extra = { agent: name, cwd, ...of };
    return [{ id: isMain ? id : `${id}-${name}`, root, path, ...stampOf(path, statePath), extra }];
  });
}
