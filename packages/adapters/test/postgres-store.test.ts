import { createPostgresStore } from "@skein/adapters/stores/postgres";
import { describeStore } from "@skein/core/testing";
import { inject } from "vitest";
import { createDatabase } from "../../../scripts/postgres.ts";

const { url: server, template } = inject("postgres");

describeStore("postgres", async () => {
  const { url, drop } = await createDatabase(server, { template });
  const open = () => createPostgresStore({ url, poolSize: 6 });
  let store = await open();
  return {
    store,
    async reopen() {
      await store.close();
      store = await open();
      return store;
    },
    another: open,
    cleanup: drop,
  };
});
