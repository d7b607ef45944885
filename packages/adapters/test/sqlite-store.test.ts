import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import { describeStore } from "@skein/core/testing";

describeStore("sqlite", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skein-sqlite-"));
  const open = () => createSqliteStore({ file: join(folder, "skein.db") });
  const store = await open();
  return {
    store,
    async reopen() {
      await store.close();
      return open();
    },
    another: open,
    cleanup: () => rm(folder, { recursive: true, force: true }),
  };
});
