/**
 * Generates a data directory of Claude Code for benchmarks and tests. The same seed gives the same files.
 *
 * The data resembles transcripts of Claude Code 1.0 to 2.1. Sizes of files and lines, and shares of line types, were
 * measured. An answer has several lines that repeat its usage. All but its last line have a placeholder as the number
 * of output tokens. Tool output is stored twice, and subagents have separate files.
 */
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createRandom, type Random } from "./random.ts";
import { topics } from "./prose.ts";
import { spread, writeTurn, type SessionWriter } from "./turn.ts";

export interface CorpusOptions {
  /** The data directory. It may be new, because its `projects` folder is created. */
  readonly folder: string;
  readonly files: number;
  readonly bytes: number;
  readonly seed?: number;
  /** Every n-th session starts a subagent; 0 means none. */
  readonly subagentEvery?: number;
}

export interface CorpusDetails {
  readonly sessions: readonly string[];
  readonly agents: number;
  readonly lines: number;
  readonly bytes: number;
}

/** Writes the corpus and returns what is in it. `files` counts main transcripts and subagents together. */
export function writeCorpus(options: CorpusOptions): CorpusDetails {
  const { folder, files, bytes, seed = 1, subagentEvery = 5 } = options;
  const random = createRandom(seed);
  const sessions: string[] = [];
  let made = 0;
  let agents = 0;
  let lines = 0;
  let written = 0;
  while (made < files) {
    const sessionId = random.uuid();
    const cwd = `/home/dev/project-${random.integer(12)}`;
    const slug = cwd.replaceAll(/[^A-Za-z0-9]/g, "-");
    const project = join(folder, "projects", slug);
    mkdirSync(project, { recursive: true });
    sessions.push(sessionId);
    const withAgents = subagentEvery > 0 && sessions.length % subagentEvery === 0;
    // As in real data, a few sessions are large and many are small. The median is a sixth of the average.
    const average = (bytes - written) / (files - made);
    const size = Math.min(12 * average, spread(random, average / 7, 1.9) * 1.15);
    const main = writeSession({ random, path: join(project, `${sessionId}.jsonl`), sessionId, cwd, size });
    made += 1;
    lines += main.lines;
    written += main.bytes;
    if (!withAgents || made >= files) continue;
    const agentFolder = join(project, sessionId, "subagents");
    mkdirSync(agentFolder, { recursive: true });
    const agentId = `a${random.hex(16)}`;
    const path = join(agentFolder, `agent-${agentId}.jsonl`);
    const agent = writeSession({ random, path, sessionId, cwd, size: size / 2, agentId });
    writeFileSync(
      join(agentFolder, `agent-${agentId}.meta.json`),
      JSON.stringify({ agentType: "Explore", description: "look around", spawnDepth: 1 }),
    );
    made += 1;
    agents += 1;
    lines += agent.lines;
    written += agent.bytes;
  }
  return { sessions, agents, lines, bytes: written };
}

interface SessionOptions {
  readonly random: Random;
  readonly path: string;
  readonly sessionId: string;
  readonly cwd: string;
  readonly size: number;
  readonly agentId?: string;
}

function writeSession(options: SessionOptions): { lines: number; bytes: number } {
  const { random, path, sessionId, cwd, agentId } = options;
  const fd = openSync(path, "w");
  let pending: string[] = [];
  let pendingBytes = 0;
  let lines = 0;
  let bytes = 0;
  const flush = (): void => {
    if (pending.length === 0) return;
    writeSync(fd, pending.join(""));
    pending = [];
    pendingBytes = 0;
  };
  const writer: SessionWriter = {
    sessionId,
    cwd,
    agentId,
    topics: topics(random),
    parentUuid: null,
    time: Date.UTC(2026, 9, 1) + random.integer(40 * 24 * 3600) * 1000,
    write(value) {
      const text = `${JSON.stringify(value)}\n`;
      const size = Buffer.byteLength(text);
      pending.push(text);
      pendingBytes += size;
      bytes += size;
      lines += 1;
      if (pendingBytes > 1_000_000) flush();
    },
  };
  try {
    for (let isDone = false; !isDone; isDone = bytes >= options.size) writeTurn(random, writer);
    flush();
  } finally {
    closeSync(fd);
  }
  return { lines, bytes };
}
