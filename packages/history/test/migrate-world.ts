/** Makes a data directory with every kind of file that can belong to a session, and snapshots of it. */
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { conversation, jsonLines, sessionId, type DataDirectory, type Fields } from "./data-directory.ts";

export const home = "/work/app";
export const away = "/work/other place";

/** Returns lines with paths in fields and in text, a signature, an unknown line and a damaged line. */
export function lines(cwd = home): readonly (Fields | string)[] {
  const said = conversation("2026-11-01T10:00:00.000Z", { cwd });
  return [
    said.user(`look at ${cwd}/src/a.ts and ${cwd}-old/b.ts`),
    said.answer([
      { type: "thinking", thinking: `in ${cwd}/src`, signature: "c2lnbmF0dXJl/work/app==" },
      { type: "tool_use", id: "t1", name: "Read", input: { file_path: `${cwd}/src/a.ts`, command: `cat ${cwd}/x` } },
    ]),
    said.user([{ type: "tool_result", tool_use_id: "t1", content: `${cwd}/src/a.ts: 1` }], {
      toolUseResult: {
        type: "text",
        file: { filePath: `${cwd}/src/a.ts`, content: `path ${cwd}` },
        filenames: [cwd, `${cwd}c/no`],
      },
    }),
    {
      type: "file-history-snapshot",
      messageId: "m",
      snapshot: {
        messageId: "m",
        trackedFileBackups: {
          [`${cwd}/src/a.ts`]: { backupFileName: "0123456789abcdef@v1", version: 1 },
          "rel.ts": { backupFileName: null, version: 1 },
        },
      },
    },
    { type: "from-the-future", cwd, path: `${cwd}/src` },
    `{"type":"user","cwd":"${cwd}", torn`,
    `{"cwd" : "${cwd}/sub",  "type":"system","n":1.50e2,"text":"\\u0041 ${cwd}","uuid":"s","timestamp":"2026-11-01T10:00:09.000Z"}`,
  ];
}

export function text(all: readonly (Fields | string)[]): string {
  return all.map((line) => (typeof line === "string" ? `${line}\n` : jsonLines([line]))).join("");
}

/** Writes `count` sessions of one project with all files that belong to them. */
export function fill(data: DataDirectory, count = 1, cwd = home): readonly string[] {
  const slug = cwd.replaceAll(/[^A-Za-z0-9]/g, "-");
  const ids = Array.from({ length: count }, (_, at) => sessionId(at + 1));
  for (const id of ids) {
    const folder = join("projects", slug);
    data.write(join(folder, `${id}.jsonl`), text(lines(cwd)));
    data.write(join(folder, id, "subagents", "agent-a1.jsonl"), text(lines(`${cwd}/sub`).slice(0, 2)));
    data.write(join(folder, id, "subagents", "agent-a1.meta.json"), `{"agentType":"Explore","note":"${cwd}"}`);
    data.write(join(folder, id, "tool-results", "t1.txt"), `output of ${cwd}`);
    data.write(join("file-history", id, "0123456789abcdef@v1"), "old text");
    data.write(join("tasks", id, "1.json"), `{"id":"1","subject":"do","status":"pending"}`);
    data.write(join("todos", `${id}-agent-${id}.json`), "[]");
  }
  const legacy = text(lines(cwd).slice(0, 1)).replace("{", `{"sessionId":"${ids[0]}",`);
  data.write(join("projects", slug, "agent-b2.jsonl"), legacy);
  data.write(join("projects", slug, "memory", "MEMORY.md"), `# ${cwd}`);
  data.write(
    "history.jsonl",
    jsonLines([
      { display: `in ${cwd}`, timestamp: 1, project: cwd, sessionId: ids[0] },
      { display: "elsewhere", timestamp: 2, project: `${cwd}c`, sessionId: "x" },
      { display: "old, without a session", timestamp: 3, project: cwd },
    ]),
  );
  data.write(
    ".claude.json",
    JSON.stringify({ numStartups: 3, projects: { [cwd]: { allowedTools: ["Bash"] }, [`${cwd}c`]: {} } }, undefined, 2),
  );
  return ids;
}

/** Returns every file below a folder, with a hash of its content. */
export function snapshot(folder: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  const walk = (at: string): void => {
    for (const name of readdirSync(at).sort()) {
      const path = join(at, name);
      const stat = lstatSync(path);
      if (stat.isDirectory()) walk(path);
      else
        found[relative(folder, path)] = stat.isSymbolicLink()
          ? readlinkSync(path)
          : createHash("sha256").update(readFileSync(path)).digest("hex");
    }
  };
  walk(folder);
  return found;
}
