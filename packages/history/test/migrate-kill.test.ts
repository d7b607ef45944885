import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { listSessions, migrateWorkspace, undoMigration } from "../src/index.ts";
import type { MigrateMode } from "../src/migrate/types.ts";
import { createDataDirectory, type DataDirectory } from "./data-directory.ts";
import { InjectedFault, withFault, withoutFault, type Fault } from "./migrate-faults.ts";
import { away, fill, home, snapshot as exactSnapshot } from "./migrate-world.ts";

/** Returns the distance between tested calls: `step`, or 1 (every call is tested) with `SKEIN_LONG=1`. */
const every = (step: number): number => (process.env["SKEIN_LONG"] ? 1 : step);
const inPlace = { source: "/work/my.app", destination: "/work/my-app" };
const elsewhere = { source: home, destination: away };

interface Way {
  readonly places: { readonly source: string; readonly destination: string };
  readonly mode: MigrateMode;
}

const options = (data: DataDirectory): { dataPath: string; cacheFolder: null; journalFolder: string } => ({
  ...data.config,
  journalFolder: join(data.cacheFolder, "migrations"),
});

function migrate(data: DataDirectory, { places, mode }: Way): Promise<{ failedCount: number }> {
  return migrateWorkspace({ ...places, mode }, options(data));
}

/** Returns the data directory before and after a migration without faults, and the number of its file-system calls. */
async function undisturbed(way: Way): Promise<{ before: Snapshot; after: Snapshot; calls: number }> {
  const data = createDataDirectory();
  fill(data, 2, way.places.source);
  const before = snapshot(data.root);
  const { calls, error } = await withFault(0, "once", () => migrate(data, way));
  expect(error).toBeUndefined();
  return { before, after: snapshot(data.root), calls };
}

/**
 * Returns the files with sorted prompts. Prompts after a crash may be in another order, but none may be missing or
 * doubled.
 */
function snapshot(root: string): Snapshot {
  const prompts = readFileSync(join(root, "history.jsonl"), "utf8").split("\n").sort().join("\n");
  return { ...exactSnapshot(root), "history.jsonl": prompts };
}

type Snapshot = Readonly<Record<string, string>>;

/** Checks that each session is complete in its old or its new place. */
function expectWhole(now: Snapshot, before: Snapshot, after: Snapshot): void {
  for (const id of Object.keys(before).flatMap((path) => /([0-9a-f-]{36})\.jsonl$/.exec(path)?.[1] ?? [])) {
    const isThere = (all: Snapshot): boolean =>
      Object.entries(all).every(
        ([path, hash]) => !path.startsWith("projects") || !path.includes(id) || now[path] === hash,
      );
    expect([id, isThere(before) || isThere(after)]).toEqual([id, true]);
  }
}

async function sweep(way: Way, fault: Fault, step: number): Promise<number> {
  const { before, after, calls } = await undisturbed(way);
  let points = 0;
  for (let at = 1; at <= calls; at += step) {
    const data = createDataDirectory();
    fill(data, 2, way.places.source);
    const { error } = await withFault(at, fault, () => migrate(data, way));
    if (error !== undefined) expect(error).toBeInstanceOf(InjectedFault);
    // While a session is rewritten in place, some of its files are old and some are new. So this check is left out.
    if (way.places === elsewhere) expectWhole(snapshot(data.root), before, after);
    const { data: listed } = await listSessions(data.config);
    expect(listed.length).toBeGreaterThanOrEqual(2);
    expect(listed.every(({ messageCount, summary }) => messageCount === 3 && summary !== null)).toBe(true);
    try {
      expect(await withoutFault(() => migrate(data, way))).toMatchObject({ failedCount: 0 });
    } catch (error_) {
      // The fault came after everything was moved, so the workspace no longer exists.
      expect(error_).toMatchObject({ name: "WorkspaceNotFoundError" });
    }
    expect([at, snapshot(data.root)]).toEqual([at, after]);
    points += 1;
  }
  return points;
}

test("if a move is killed at any file-system call, each session stays complete and the next run finishes the move", async () => {
  const points = await sweep({ places: elsewhere, mode: "move" }, "killed", every(11));
  expect(points).toBeGreaterThan(7);
});

test("if a copy is killed at any file-system call, each session stays complete and the next run finishes the copy", async () => {
  expect(await sweep({ places: elsewhere, mode: "copy" }, "killed", every(23))).toBeGreaterThan(5);
});

test("if a move that rewrites files in place is killed, the next run finishes the move", async () => {
  expect(await sweep({ places: inPlace, mode: "move" }, "killed", every(19))).toBeGreaterThan(5);
});

test("if the disk gets full at any file-system call, each session stays complete and the next run with space finishes the move", async () => {
  expect(await sweep({ places: elsewhere, mode: "move" }, "full", every(23))).toBeGreaterThan(7);
});

test("if any file-system call fails once, the next run finishes the migration", async () => {
  expect(await sweep({ places: elsewhere, mode: "move" }, "once", every(21))).toBeGreaterThan(7);
});

test.each(["move", "copy"] as const)("if undo of a %s is killed, the next undo finishes it", async (mode) => {
  const way = { places: elsewhere, mode };
  const prepared = async (): Promise<DataDirectory> => {
    const data = createDataDirectory();
    fill(data, 2);
    await withoutFault(() => migrate(data, way));
    return data;
  };
  const first = createDataDirectory();
  fill(first, 2);
  const before = snapshot(first.root);
  const { calls } = await withFault(0, "once", async () => undoMigration(undefined, options(await prepared())));
  for (let at = 1; at <= calls; at += every(29)) {
    const data = await prepared();
    await withFault(at, "killed", () => undoMigration(undefined, options(data)));
    await withoutFault(() => undoMigration(undefined, options(data))).catch((error: unknown) =>
      expect(error).toMatchObject({ code: "unknown-migration" }),
    );
    expect([at, snapshot(data.root)]).toEqual([at, before]);
  }
});

test("the lock of a killed process is free, and the next process finishes the migration", async () => {
  const { after } = await undisturbed({ places: elsewhere, mode: "move" });
  for (const at of process.env["SKEIN_LONG"] ? [3, 20, 40, 60] : [3, 40]) {
    const data = createDataDirectory();
    fill(data, 2);
    const child = spawn(
      process.execPath,
      [
        "--conditions=@skein/source",
        fileURLToPath(new URL("migrate-child.ts", import.meta.url)),
        String(at),
        JSON.stringify(options(data)),
        home,
        away,
      ],
      { stdio: "inherit" },
    );
    const [, signal] = (await once(child, "exit")) as [number | null, string | null];
    expect([at, signal]).toEqual([at, "SIGKILL"]);
    await withoutFault(() => migrate(data, { places: elsewhere, mode: "move" })).catch((error: unknown) =>
      expect(error).toMatchObject({ name: "WorkspaceNotFoundError" }),
    );
    expect([at, snapshot(data.root)]).toEqual([at, after]);
  }
});
