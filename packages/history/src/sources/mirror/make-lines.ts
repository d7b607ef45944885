/** Translates one session into a file of lines in the mirror. */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { aboutDamage } from "../port/about-damage.ts";
import { agentTitles, type Unit } from "../port/source.ts";
import { createTranscriptWriter } from "../port/transcript-writer.ts";
import { appendGrowth } from "./append-growth.ts";
import { metaPath, type MirrorPlace } from "./find-sessions.ts";
import type { MirroredUnit } from "./mirror-state.ts";

const blockLength = 1024 * 1024;

/** Creates or updates the lines of a session. If the session only grew, new lines are appended to the file. */
export function makeLines({ source, folder }: MirrorPlace, unit: Unit, known: MirroredUnit): MirroredUnit {
  const target = join(folder, known.place);
  const staged = join(folder, "staged", `${randomBytes(8).toString("hex")}.jsonl`);
  mkdirSync(dirname(staged), { recursive: true, mode: 0o700 });
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  const fd = openSync(staged, "wx", 0o600);
  const otherRecord = `{"type":"${source.name}:`;
  let others = 0;
  let own = 0;
  let waiting: string[] = [];
  let length = 0;
  const torn: string[] = [];
  const flush = (): void => {
    if (waiting.length > 0) writeSync(fd, waiting.join(""));
    waiting = [];
    length = 0;
  };
  const writer = createTranscriptWriter({
    source: source.name,
    sessionId: unit.id,
    onLine(line) {
      if (line.startsWith(otherRecord)) others += 1;
      else own += 1;
      waiting.push(line);
      length += line.length;
      if (length > blockLength) flush();
    },
    onTorn: (text) => torn.push(text),
  });
  try {
    source.read(unit, writer);
    if (own === 0 && others > 0) {
      const agent = agentTitles[source.name];
      writer.damage(`${aboutDamage}no record of ${agent} in it: is it of another agent, or of a newer version?`);
    }
    // As in the agent's file, an incomplete line comes last and without a line feed. So the translated file can still
    // grow when the agent continues.
    waiting.push(torn.join("\n"));
    flush();
  } catch (error) {
    rmSync(staged, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
  if (!appendGrowth(staged, target)) renameSync(staged, target);
  if (unit.mtimeMs > 0) utimesSync(target, unit.mtimeMs / 1000, unit.mtimeMs / 1000);
  const meta = { ...known.meta, ...writer.head.parent?.meta };
  if (Object.keys(meta).length > 0) writeFileSync(metaPath(target), JSON.stringify(meta), { mode: 0o600 });
  const { size, mtimeMs, ino } = statSync(target);
  return { ...known, meta, lines: { stamp: unit.stamp, size, mtimeMs, inode: ino } };
}
