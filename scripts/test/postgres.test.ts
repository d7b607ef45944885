import { existsSync, readFileSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startPostgres } from "../postgres.ts";

test("if Ctrl-C has already ended PostgreSQL, stop throws no error and removes the folder", async () => {
  const prefix = `skein-pg-ended-${process.pid}-`;
  const server = await startPostgres({ prefix });
  const folder = join(tmpdir(), readdirSync(tmpdir()).find((name) => name.startsWith(prefix)) ?? "");
  const pidFile = join(folder, "data/postmaster.pid");
  process.kill(Number(readFileSync(pidFile, "utf8").split("\n")[0]), "SIGINT");
  await expect.poll(() => existsSync(pidFile)).toBe(false);
  await server.stop();
  expect(existsSync(folder)).toBe(false);
});
