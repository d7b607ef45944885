import { createMemoryStore } from "@skein/core";
import { describeStore } from "@skein/core/testing";

describeStore("memory", async () => ({ store: createMemoryStore() }), {
  reopen: "it keeps nothing beyond its process",
  another: "it lives in one process",
});
