import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFilesystemStore } from "@skein/adapters/stores/filesystem";
import { describeStore } from "@skein/core/testing";

describeStore(
  "filesystem",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "skein-files-"));
    let store = await createFilesystemStore({ folder });
    return {
      get store() {
        return store;
      },
      async reopen() {
        await store.close();
        store = await createFilesystemStore({ folder });
        return store;
      },
      cleanup: () => rm(folder, { recursive: true, force: true }),
    };
  },
  { another: "one process at a time has the folder; a second one is refused" },
);
