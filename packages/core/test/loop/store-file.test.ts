import { type Model, type ModelCatalog, type SessionState, emptyState } from "@skein/core";
import { expect, test } from "vitest";
import { storeFile } from "../../src/loop/store-file.ts";

test("a file is downloaded from the provider of the model that made it, even if the session uses another model now", async () => {
  const run = { runId: "r", step: 2, fallback: { model: "other/model", attemptsBefore: 0 } };
  const files = [{ fileId: "file_1", step: 1, model: "claude-sonnet-5-5" }];
  const state = { ...emptyState("s"), run: { ...run, files } } as unknown as SessionState;
  const asked: string[] = [];
  const bytes = new TextEncoder().encode("made");
  const model = { download: async () => ({ filename: "a.txt", mimeType: "text/plain", bytes }) } as unknown as Model;
  const models: ModelCatalog = {
    refresh: async () => {},
    named(_, name) {
      asked.push(name);
      return model;
    },
  };
  const place = { put: async () => ({ storagePath: "/a.txt" }), get: async () => bytes };
  const deps = { models, files: place as never, now: Date.now };
  const facts = await storeFile(state, "file_1", deps, new AbortController().signal);
  expect(asked).toEqual(["claude-sonnet-5-5"]);
  expect(facts.map(({ event_type }) => event_type)).toContain("file.stored");
});
