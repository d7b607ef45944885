import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readBackup, writeBackups } from "../../src/runtimes/claude-code/backups.ts";
import { abandonedSessions, removeSessionFiles } from "../../src/runtimes/claude-code/child-folders.ts";
import { hideArguments } from "../../src/runtimes/claude-code/process-guard/hidden-arguments.ts";
import { BACKUPS, type Transcript } from "../../src/runtimes/claude-code/transcript.ts";
import { createWorld } from "./world.ts";

const GONE = "01a1de6b-ce85-73e6-957e-30f2af6e7b70";
const KEPT = "01a1de6b-ce85-73e6-957e-30f2af6e7b71";

/** Every file and folder that Claude Code names after a session. */
const filesOf = (id: string): readonly string[] => [
  `projects/-work/${id}.jsonl`,
  `projects/-work/${id}/subagents/agent-1.jsonl`,
  `projects/-work/${id}/tool-results/1.txt`,
  `file-history/${id}/0123456789abcdef@v1`,
  `image-cache/${id}/1.png`,
  `tasks/${id}/1.json`,
  `todos/${id}-agent-${id}.json`,
  `session-env/${id}/hook.sh`,
  `debug/${id}.txt`,
  `telemetry/failed.${id}.json`,
  `tmp/claude-0/-work/${id}/tasks/1.output`,
  `security_warnings_state_${id}.json`,
];

function configFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-claude-folder-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const file of [...filesOf(GONE), ...filesOf(KEPT), "settings.json"]) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    writeFileSync(join(folder, file), "x");
  }
  return folder;
}

test("all files of a session are removed, files of other sessions stay, and links are not followed", () => {
  const folder = configFolder();
  const outside = configFolder();
  symlinkSync(outside, join(folder, "plugins"));
  removeSessionFiles(folder, GONE);
  for (const file of filesOf(GONE)) expect([file, existsSync(join(folder, file))]).toEqual([file, false]);
  for (const file of [...filesOf(KEPT), "settings.json"])
    expect([file, existsSync(join(folder, file))]).toEqual([file, true]);
  for (const file of filesOf(GONE)) expect([file, existsSync(join(outside, file))]).toEqual([file, true]);
});

test("file copies are never read or written through a link that a session made", () => {
  const folder = configFolder();
  const outside = configFolder();
  const secret = join(outside, "secret");
  writeFileSync(secret, "secret");
  const copies = join(folder, "file-history", GONE);
  symlinkSync(secret, join(copies, "planted@v1"));
  const transcript = (name: string): Transcript =>
    new Map([[`${BACKUPS}${name}`, [{ type: "file-history-backup", name, data: btoa("changed") }]]]);
  expect(readBackup(folder, GONE, "0123456789abcdef@v1")).toMatchObject({ data: btoa("x") });
  expect(readBackup(folder, GONE, "planted@v1")).toBeUndefined();
  writeBackups(transcript("planted@v1"), folder, GONE);
  rmSync(copies, { recursive: true });
  symlinkSync(outside, copies);
  expect(readBackup(folder, GONE, "secret")).toBeUndefined();
  writeBackups(transcript("secret"), folder, GONE);
  expect(readFileSync(secret, "utf8")).toBe("secret");
});

test("sessions whose files have not changed for an hour are found", () => {
  const folder = configFolder();
  expect(abandonedSessions(folder, Date.now())).toEqual([]);
  utimesSync(join(folder, "image-cache", GONE), 0, 0);
  expect(abandonedSessions(folder, Date.now())).toEqual([GONE]);
});

test("a new server removes the folders of a killed server, and no other folders", async () => {
  const left = join(tmpdir(), `claude-resume-${GONE}`);
  const used = join(tmpdir(), `claude-resume-${KEPT}`);
  const foreign = join(tmpdir(), "claude-resume-of-another-program");
  for (const path of [left, used, foreign]) {
    mkdirSync(path);
    onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  }
  writeFileSync(join(left, ".skein-owner"), `${hostname()}/${2 ** 30}/1`);
  writeFileSync(join(used, ".skein-owner"), `another-host/1/1`);
  await createWorld();
  expect([left, used, foreign].map((path) => existsSync(path))).toEqual([false, true, true]);
});

test("the folder of the files that hide secret arguments is removed with its last file", () => {
  const folder = join(configFolder(), "hidden");
  const hide = () => hideArguments(["--settings", '{"a":1}'], folder);
  const [first, second] = [hide(), hide()];
  first.remove();
  expect(second.files.map((file) => existsSync(file))).toEqual([true]);
  second.remove();
  expect(existsSync(folder)).toBe(false);
});
