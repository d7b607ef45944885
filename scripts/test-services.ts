/** Vitest's global setup: services for the tests, started once and stopped at the end. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { createDatabase, testPostgres } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A PostgreSQL server with a template database, in which every migration is applied. Tests copy the template. */
    postgres: { readonly url: string; readonly template: string };
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (process.platform !== "win32")
    execFileSync(fileURLToPath(new URL("provision", import.meta.url)), { stdio: "inherit" });
  const server = await testPostgres();
  const template = `skein_template_${process.pid}`;
  const database = await createDatabase(server.url, { name: template });
  migrate(database.url);
  project.provide("postgres", { url: server.url, template });
  return async () => {
    await database.drop();
    await server.stop();
  };
}

/** Migrates in a separate process, because Node runs the sources only with the condition `@skein/source`. */
function migrate(url: string): void {
  const program = `
    const { createPostgresStore } = await import("@skein/adapters/stores/postgres");
    await (await createPostgresStore({ url: process.argv[1] })).close();`;
  execFileSync(process.execPath, ["--conditions=@skein/source", "--input-type=module", "--eval", program, url], {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    stdio: "inherit",
  });
}
