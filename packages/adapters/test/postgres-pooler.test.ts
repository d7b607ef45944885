import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { freePort } from "../../../scripts/free-port.ts";
import { createDatabase } from "../../../scripts/postgres.ts";
import { createPostgresStore } from "../src/stores/postgres/index.ts";

const isInstalled = spawnSync("pgbouncer", ["-V"]).status === 0;

/** Starts PgBouncer in front of a new database, and returns its address. */
async function pooled(mode: "session" | "transaction"): Promise<string> {
  const database = await createDatabase(inject("postgres").url);
  const folder = mkdtempSync(join(tmpdir(), "skein-pooler-"));
  const port = await freePort();
  const { hostname, port: serverPort, username, pathname } = new URL(database.url);
  writeFileSync(join(folder, "users.txt"), `"${username}" ""\n`, { mode: 0o644 });
  writeFileSync(
    join(folder, "pgbouncer.ini"),
    `[databases]
* = host=${hostname} port=${serverPort} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
ignore_startup_parameters = extra_float_digits
logfile = ${folder}/log
`,
  );
  // PgBouncer refuses to run as root.
  const who = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  spawnSync("chmod", ["777", folder]);
  const child: ChildProcess = spawn("pgbouncer", [join(folder, "pgbouncer.ini")], { ...who, stdio: "ignore" });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });
  await expect.poll(() => answers(port)).toBe(true);
  return `postgres://${username}@127.0.0.1:${port}${pathname}`;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => (socket.destroy(), resolve(true)));
    socket.on("error", () => resolve(false));
  });
}

test.skipIf(!isInstalled)("a pooler in transaction mode is rejected with an error that says what to do", async () => {
  const opening = createPostgresStore({ url: await pooled("transaction") });
  await expect(opening).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining("pool_mode") });
});

test.skipIf(!isInstalled)("through a pooler in session mode, a store can be opened and read", async () => {
  const store = await createPostgresStore({ url: await pooled("session") });
  expect(await store.list({ tenant: "default" })).toEqual({ items: [], cursor: null });
  await store.close();
});
