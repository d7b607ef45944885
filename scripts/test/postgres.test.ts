import { once } from "node:events";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
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

test("after a crash, PostgreSQL starts only on the port of its address", async () => {
  const server = await startPostgres({ prefix: `skein-pg-port-${process.pid}-` });
  onTestFinished(() => server.stop());
  await server.crash();
  const other = createServer().listen(Number(new URL(server.url).port), "127.0.0.1");
  await once(other, "listening");
  await expect(server.start()).rejects.toThrow(`on port ${new URL(server.url).port}`);
  other.close();
  await once(other, "close");
  await server.start();
  const client = new pg.Client(server.url);
  await client.connect();
  await client.end();
});
