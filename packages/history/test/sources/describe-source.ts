/**
 * Tests the contract of a source (one coding agent whose sessions Skein can read). Every source passes this suite with
 * data in its format.
 */
import { createHash } from "node:crypto";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  getAgentSession,
  getSession,
  getUsage,
  listSessions,
  recogniseSource,
  verify,
  withSources,
  type LibraryConfig,
} from "../../src/index.ts";
import { readOriginal } from "../../src/sources/read-original.ts";
import { sources } from "../../src/sources/registry.ts";
import { agentData, temporaryFolder, type AgentData, type agentNames } from "./agent-data.ts";

type Agent = (typeof agentNames)[number];

interface Read {
  readonly config: LibraryConfig;
  readonly problems: readonly { readonly path: string; readonly message: string }[];
}

async function read(
  data: AgentData,
  cacheFolder = join(temporaryFolder(), "cache"),
  lines: "all" | "as-needed" = "all",
): Promise<Read> {
  if (data.name === "claude-desktop") vi.stubEnv("CLAUDE_CONFIG_DIR", join(data.folder, "home", ".claude"));
  return await withSources({ dataPath: data.roots, sources: [data.name], cacheFolder, lines });
}

/**
 * Removes the times of the first and last activity, because they may differ before and after translation. A model call
 * counts at the line with its tokens, which may come after the first line of its answer.
 */
function timeless(part: object): unknown {
  return JSON.parse(
    JSON.stringify(part, (key, value: unknown) => (/^(first|last)ActivityAt$/.test(key) ? undefined : value)),
  );
}

async function idsIn(config: LibraryConfig): Promise<readonly string[]> {
  const { data } = await listSessions({ ...config, limit: Infinity });
  return data.flatMap(({ id, agentIds }) => [id, ...agentIds]).sort();
}

/**
 * Returns a hash of everything in a folder. The `-shm` and `-wal` files of databases are left out, because any reader
 * of a database with a write-ahead log may create them.
 */
function stateOf(folder: string): string {
  const hash = createHash("sha256");
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }).sort((a, b) =>
    a.name < b.name ? -1 : 1,
  )) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || /-(shm|wal)$/.test(path)) continue;
    hash
      .update(path)
      .update(readFileSync(path))
      .update(String(statSync(path).mtimeMs));
  }
  return hash.digest("hex");
}

function filesIn(folder: string, name: RegExp): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && name.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

export interface SourceOptions {
  readonly agent: Agent;
  /** The names of files with lines. It is missing for an agent that has only documents or a database. */
  readonly lines?: RegExp;
  /** The database of the agent, below the folder. */
  readonly database?: string;
  /** A table of the database that a test renames, so that the database looks like an unknown version. */
  readonly table?: string;
}

export function describeSource({ agent, lines, database, table }: SourceOptions): void {
  describe(`the contract of a source: ${agent}`, () => {
    afterEach(() => void vi.unstubAllEnvs());

    it("a source recognises the data of its agent, and no other source recognises it", () => {
      const { roots, name } = agentData(agent);
      for (const root of roots) {
        expect(recogniseSource(root)).toBe(name);
        expect(sources.filter((source) => source.owns(root)).map((source) => source.name)).toEqual([name]);
      }
    });

    it("a missing or empty root gives no sessions and no problems", async () => {
      const source = sources.find(({ name }) => name === agentData(agent).name);
      const folder = temporaryFolder();
      mkdirSync(join(folder, "sessions"));
      expect(source?.units(folder)).toEqual({ units: [], problems: [] });
      expect(source?.units(join(folder, "missing"))).toEqual({ units: [], problems: [] });
    });

    it("nothing is written into the agent's data", async () => {
      const data = agentData(agent);
      const before = stateOf(data.folder);
      await read(data);
      expect(stateOf(data.folder)).toBe(before);
    });

    it("unchanged sessions are not read again, and deleted sessions disappear", async () => {
      const data = agentData(agent);
      const cache = join(temporaryFolder(), "cache");
      const { config } = await read(data, cache);
      const before = await idsIn(config);
      const again = vi.fn();
      await withSources({ dataPath: data.roots, sources: [data.name], cacheFolder: cache, onTranslated: again });
      expect(again).not.toHaveBeenCalled();
      expect(before.length).toBeGreaterThan(0);
      for (const root of data.roots) rmSync(root, { recursive: true, force: true });
      const gone = await withSources({ dataPath: data.roots, sources: [data.name], cacheFolder: cache }).catch(
        () => null,
      );
      expect(gone === null ? [] : await idsIn(gone.config).catch(() => [])).toEqual([]);
    });

    it("getUsage translates no session, listing one session translates at most one, and both results are the same after translation", async () => {
      const data = agentData(agent);
      const cache = join(temporaryFolder(), "cache");
      const unread = await read(data, cache, "as-needed");
      const usage = await getUsage({ ...unread.config, timeZone: "UTC" });
      expect(filesIn(cache, /\.jsonl$/)).toEqual([]);
      const { data: newest } = await listSessions({ ...unread.config, limit: 1 });
      expect(filesIn(cache, /\.jsonl$/).length).toBeLessThanOrEqual(1);
      const { config } = await read(data);
      const { mirrors: _counters, ...lines } = config;
      const [counted, fromLines] = [usage, await getUsage({ ...lines, timeZone: "UTC", cacheFolder: null })];
      for (const part of ["totals", "byDay", "byModel", "byProject", "bySource", "bySession"] as const)
        expect(timeless(counted[part]), part).toEqual(timeless(fromLines[part]));
      expect(newest[0]?.id).toBe((await listSessions({ ...config, limit: 1 })).data[0]?.id);
      const listed = await listSessions({ ...unread.config, limit: Infinity });
      const asLines = await listSessions({ ...lines, cacheFolder: null, limit: Infinity });
      const placeless = ({ path: _path, ...rest }: (typeof asLines.data)[number]) => rest;
      expect(listed.data.map(placeless)).toEqual(asLines.data.map(placeless));
    });

    it("reading a session creates only the lines of this session and its subagents", async () => {
      const data = agentData(agent);
      const cache = join(temporaryFolder(), "cache");
      const { config } = await read(data, cache, "as-needed");
      const { data: sessions } = await listSessions({ ...(await read(data)).config, limit: Infinity });
      const [first] = sessions;
      const session = await getSession(first?.id ?? "", config);
      expect(session.messages.length).toBeGreaterThan(0);
      const isInPlace = sources.some(({ name, reads }) => name === data.name && reads === "in-place");
      expect(filesIn(cache, /\.jsonl$/)).toHaveLength(isInPlace ? 0 : 1 + (first?.agentIds.length ?? 0));
    });

    it("readOriginal returns the agent's original text of every line", async () => {
      const data = agentData(agent);
      const { config } = await read(data);
      const { data: sessions } = await listSessions({ ...config, limit: Infinity });
      for (const { id, agentIds } of sessions) {
        const session = await getSession(id, config);
        const agents = await Promise.all(agentIds.map((agentId) => getAgentSession(agentId, config)));
        for (const { path, messages } of [session, ...agents])
          for (const message of messages) {
            const { place, text } = readOriginal({ path: path ?? session.path }, message);
            expect(text, `${id} line ${message.lineNumber} ${place}`).toBeTruthy();
          }
      }
    });

    if (lines)
      it("damaged lines and unknown records do not hide a session", async () => {
        const data = agentData(agent);
        const whole = await idsIn((await read(data)).config);
        for (const path of filesIn(data.folder, lines)) {
          appendFileSync(
            path,
            '{"type":"a-type-of-tomorrow","timestamp":"2026-11-01T00:00:00.000Z","uuid":"x","payload":{"a":1}}\n',
          );
          appendFileSync(
            path,
            Buffer.concat([
              Buffer.from('{"type":"odd","timestamp":"2026-11-01T00:00:00.000Z","text":"'),
              Buffer.from([0xff, 0xfe]),
              Buffer.from('"}\n'),
            ]),
          );
          appendFileSync(
            path,
            '{"type":"one","timestamp":"2026-11-01T00:00:00.000Z"}{"type":"two","timestamp":"2026-11-01T00:00:00.000Z"}\n',
          );
          appendFileSync(path, "not json at all\n");
          appendFileSync(path, '{"type":"torn","timest');
        }
        const { config, problems } = await read(data);
        expect(problems).toEqual([]);
        expect(await idsIn(config)).toEqual(whole);
        const { damage } = await verify(config);
        expect(damage.length).toBeGreaterThan(0);
      });

    if (lines)
      it("after an incomplete last line is completed, the session continues in its translated file", async () => {
        const data = agentData(agent);
        const cache = join(temporaryFolder(), "cache");
        const isTranslated = sources.some(({ name, reads }) => name === data.name && reads === "translated");
        const made = (): readonly string[] => (isTranslated ? filesIn(join(cache, "agents"), /\.jsonl$/) : []);
        const wholeLinesIn = (path: string): string => {
          const text = readFileSync(path, "utf8");
          return text.slice(0, text.lastIndexOf("\n") + 1);
        };
        const whole = (await read(data)).config;
        const rests = filesIn(data.folder, lines).map((path): readonly [string, Buffer] => {
          const bytes = readFileSync(path);
          const lastLine = bytes.lastIndexOf(0x0a, bytes.length - 2) + 1;
          const cut = lastLine + Math.ceil((bytes.length - lastLine) / 2);
          writeFileSync(path, bytes.subarray(0, cut));
          return [path, bytes.subarray(cut)];
        });
        expect((await read(data, cache)).problems).toEqual([]);
        const before = made().map((path) => ({ path, inode: statSync(path).ino, lines: wholeLinesIn(path) }));
        for (const line of before.flatMap((file) => file.lines.split("\n").slice(0, -1)))
          expect(() => JSON.parse(line) as unknown, line).not.toThrow();
        for (const [path, rest] of rests) appendFileSync(path, rest);
        const { config, problems } = await read(data, cache);
        expect(problems).toEqual([]);
        expect((await verify(config)).damage).toEqual([]);
        expect(await idsIn(config)).toEqual(await idsIn(whole));
        const totalsOf = async (library: LibraryConfig) => (await getUsage({ ...library, timeZone: "UTC" })).totals;
        expect(await totalsOf(config)).toEqual(await totalsOf(whole));
        // The lines of Grok and Droid end with sums of tokens, so earlier lines change too.
        const grown = before.filter((file) => wholeLinesIn(file.path).startsWith(file.lines));
        for (const { path, inode } of grown) expect(statSync(path).ino, path).toBe(inode);
        if (isTranslated && agent !== "grok" && agent !== "droid") expect(grown).not.toEqual([]);
      });

    if (lines)
      it("a line of 20 MB hides no session and no token", async () => {
        const data = agentData(agent);
        const before = (await read(data)).config;
        const [ids, { totals }] = [await idsIn(before), await getUsage({ ...before, timeZone: "UTC" })];
        const [first = ""] = filesIn(data.folder, lines);
        const line = { type: "huge", timestamp: "2026-11-01T00:00:00.000Z", text: "x".repeat(20_000_000) };
        // The long line is in the middle, so the test also checks the lines after it.
        const [head = "", ...rest] = readFileSync(first, "utf8").split("\n");
        writeFileSync(first, [head, JSON.stringify(line), ...rest].join("\n"));
        const { config, problems } = await read(data);
        expect(problems).toEqual([]);
        expect(await idsIn(config)).toEqual(ids);
        expect((await getUsage({ ...config, timeZone: "UTC" })).totals).toEqual(totals);
      });

    if (lines)
      it("an empty file and a file without known records do not hide sessions", async () => {
        const data = agentData(agent);
        const whole = await idsIn((await read(data)).config);
        const [first = ""] = filesIn(data.folder, lines);
        const beside = join(
          dirname(first),
          basename(first)
            .replace(/(\d)(?=\.jsonl$)/, "9")
            .replace(/^(?!.*9\.jsonl$)/, "x-"),
        );
        writeFileSync(beside, "");
        writeFileSync(join(dirname(first), "notes.jsonl"), '{"hello":"from nobody"}\n');
        const { config } = await read(data);
        expect(await idsIn(config)).toEqual(expect.arrayContaining([...whole]));
      });

    if (database && table)
      it("a database is read while its agent writes, and the agent is not blocked", async () => {
        const data = agentData(agent);
        const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
        const writer = new DatabaseSync(join(data.folder, database), { timeout: 0 });
        writer.exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE;");
        writer.exec(`CREATE TABLE being_written (a); INSERT INTO being_written VALUES (1)`);
        try {
          const { config, problems } = await read(data);
          expect(problems).toEqual([]);
          expect((await idsIn(config)).length).toBeGreaterThan(0);
          writer.exec("COMMIT");
        } finally {
          writer.close();
        }
      });

    if (database && table)
      it("an unknown database version, or a file that is not a database, is reported as a problem", async () => {
        for (const content of ["newer", "none"]) {
          const data = agentData(agent);
          const path = join(data.folder, database);
          if (content === "none") {
            for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
            writeFileSync(path, "this is not a database, but it is long enough to be taken for one".repeat(50));
          } else {
            const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
            const writer = new DatabaseSync(path);
            writer.exec(`ALTER TABLE ${table} RENAME TO of_tomorrow`);
            writer.close();
          }
          const { problems } = await read(data);
          expect(problems.map((problem) => problem.path)).toContain(path);
        }
      });

    if (database && table)
      it("sessions of a database are kept while it is unreadable, and the problem ends when it is readable again", async () => {
        const data = agentData(agent);
        const cache = join(temporaryFolder(), "cache");
        const whole = await idsIn((await read(data, cache)).config);
        const path = join(data.folder, database);
        const files = ["", "-wal", "-shm"].map((suffix) => `${path}${suffix}`).filter((file) => existsSync(file));
        for (const file of files) renameSync(file, `${file}.kept`);
        writeFileSync(path, "half a database".repeat(500));
        const { config, problems } = await read(data, cache);
        expect(problems).not.toEqual([]);
        expect(await idsIn(config)).toEqual(whole);
        for (const file of files) renameSync(`${file}.kept`, file);
        expect((await read(data, cache)).problems).toEqual([]);
      });

    it("a copy of the data in another folder can be read", async () => {
      const data = agentData(agent);
      const copy = join(temporaryFolder(), "copy");
      cpSync(data.folder, copy, { recursive: true });
      expect(existsSync(copy)).toBe(true);
      const roots = data.roots.map((root) => root.replace(data.folder, copy));
      const { config } = await read({ ...data, folder: copy, roots });
      expect((await idsIn(config)).length).toBeGreaterThan(0);
    });
  });
}
