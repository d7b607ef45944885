import { ClaudeOptions } from "@skein/protocol";
import { expect, test } from "vitest";
import { placesOf } from "../../src/runtimes/claude-code/session-places.ts";

const options = { ...ClaudeOptions.parse({ add_dirs: ["/r/more"] }), settings: null };

test("the sandbox gets all folders of a session, including the working folder, with their identities", () => {
  expect(placesOf({ ...options, cwd: "/r/own", identities: { "/r/own": "1:2", "/r/more": "1:3" } })).toEqual([
    { path: "/r/own", access: "write", identity: "1:2" },
    { path: "/r/more", access: "write", identity: "1:3" },
  ]);
});

test("a read-only folder is mounted last, so that no other mount covers it", () => {
  const places = placesOf({ ...options, cwd: "/data/work/1", readOnly: ["/r/more"], identities: { "/r/more": "1:3" } });
  expect(places).toEqual([
    { path: "/r/more", access: "write", identity: "1:3" },
    { path: "/r/more", access: "read", identity: "1:3" },
  ]);
});
