/**
 * Reads Cursor's sessions: transcripts of the agent in `.cursor/projects`, and chats of the editor in the database. No
 * tokens are counted.
 */
import { basename, join } from "node:path";
import { stringOf } from "../../model/value.ts";
import { eachRecord, entriesIn, isFile, isFolder, originalLine, stampOf, unitOf } from "../port/files.ts";
import { appData } from "../port/places.ts";
import type { Found, TranslatedSource, Problem, Unit } from "../port/source.ts";
import { findComposers, isEditorDatabase, originalBubble, readComposer } from "./composers.ts";
import { createTranscript, lastPromptTime } from "./transcript.ts";
import { originalText, readText } from "./text-transcript.ts";

export const cursor: TranslatedSource = {
  name: "cursor",
  reads: "translated",
  roots(places) {
    const { env, homes } = places;
    const given = env["CURSOR_CONFIG_DIR"];
    const folders = given ? [given] : homes.map((home) => join(home, ".cursor"));
    const editor = appData(places, "Cursor").map((folder) => join(folder, "User", "globalStorage", "state.vscdb"));
    return [...folders, ...editor];
  },
  owns: (path) =>
    isFile(path)
      ? path.endsWith(".vscdb") && isEditorDatabase(path)
      : entriesIn(join(path, "projects")).some(({ name }) =>
          isFolder(join(path, "projects", name, "agent-transcripts")),
        ),
  units: (root) => (isFile(root) ? findComposers(root) : findTranscripts(root)),
  lastTime: (unit) => (unit.extra?.["composer"] === true ? undefined : lastPromptTime(unit.path)),
  read(unit, writer) {
    // Cursor writes no usable token counts.
    if (writer.wants === "usage") return;
    if (unit.extra?.["composer"] === true) return readComposer(unit, writer);
    const parent = stringOf(unit.extra?.["parent"]);
    if (parent !== null) writer.subagentOf({ sessionId: parent });
    if (unit.path.endsWith(".txt")) return readText(unit, writer);
    const transcript = createTranscript(unit, writer);
    eachRecord(unit.path, { writer }, (line, from) => transcript.add(line, from));
    transcript.finish();
  },
  original(unit, from) {
    if (unit.extra?.["composer"] === true) return originalBubble(unit, from);
    return unit.path.endsWith(".txt") ? originalText(unit.path, from) : originalLine(unit.path, from);
  },
};

function findTranscripts(root: string): Found {
  const problems: Problem[] = [];
  const units: Unit[] = [];
  for (const project of entriesIn(join(root, "projects"), problems)) {
    const folder = join(root, "projects", project.name, "agent-transcripts");
    const entries = entriesIn(folder, problems);
    const names = new Set(entries.map(({ name }) => name));
    for (const entry of entries) {
      const path = join(folder, entry.name);
      const extra = { project: project.name };
      if (entry.isDirectory()) {
        const main = join(path, `${entry.name}.jsonl`);
        if (isFile(main, problems)) units.push(unitOf(root, main, entry.name, extra));
        for (const child of entriesIn(join(path, "subagents"), problems))
          if (child.isFile() && child.name.endsWith(".jsonl")) {
            const childPath = join(path, "subagents", child.name);
            units.push(unitOf(root, childPath, basename(child.name, ".jsonl"), { ...extra, parent: entry.name }));
          }
      } else if (/\.(jsonl|txt)$/.test(entry.name) && entry.isFile()) {
        const id = entry.name.replace(/\.(jsonl|txt)$/, "");
        // For one id, a folder is preferred to a `.jsonl` file, and a `.jsonl` file to a text file.
        if (names.has(id) || (entry.name.endsWith(".txt") && names.has(`${id}.jsonl`))) continue;
        units.push({ id, root, path, ...stampOf(path), extra });
      }
    }
  }
  return { units, problems };
}
