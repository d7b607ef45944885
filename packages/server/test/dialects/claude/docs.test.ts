import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROUTES, type Route, StreamEvent } from "@skein/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scripted } from "../../world.ts";
import { type ClaudeServer, claudeServer } from "./server.ts";
import { all, names, only } from "./world.ts";

/**
 * Sends the examples of `docs/reference/claude-api.md` to a real server. Checks that the routes and events of this
 * page, and the tests that the README names, exist.
 */

const page = readFileSync(new URL("../../../../../docs/reference/claude-api.md", import.meta.url), "utf8");
const fenced = (language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n([^\`]+)\`\`\``, "g"))].map(([, text = ""]) => text);

let server: ClaudeServer;
let ids: Readonly<Record<string, string>>;
beforeAll(async () => {
  server = await claudeServer();
  const file = join(server.work, "documented.txt");
  const frames = await all(server, "/api/v1/query", {
    prompt: scripted("documented", [
      { tools: [{ name: "Write", input: { file_path: file, content: "x" } }] },
      { text: "Hi." },
    ]),
    cwd: server.work,
    permission_mode: "acceptEdits",
    enable_file_checkpointing: true,
  });
  const session_id = only(frames, "init").data.session_id;
  const { body } = await server.call("GET", `/api/v1/sessions/${session_id}/checkpoints`);
  const [checkpoint] = body["checkpoints"] as { id: string }[];
  ids = { session_id, checkpoint_id: checkpoint?.id ?? "" };
});
afterAll(() => server.close());

const filled = (text: string): string => text.replaceAll(/\{(\w+_id)\}/g, (_, name: string) => ids[name] ?? name);
const examples = fenced("http").map((text): [string, string, string] => {
  const [first = "", ...rest] = text.split("\n");
  const [method = "", path = ""] = first.split(" ");
  return [method, path, rest.join("\n").trim()];
});

test("docs/reference/claude-api.md has examples", () => {
  expect(examples.length).toBeGreaterThan(6);
});

test.each(examples)("the example %s %s works", async (method, path, text) => {
  const body = text === "" ? undefined : (JSON.parse(filled(text)) as unknown);
  const route: Route | undefined = Object.values<Route>(ROUTES).find(
    (one) => one.method === method && one.path === path.split("?")[0],
  );
  expect(route, `${method} ${path} is no route.`).toBeDefined();
  if (!route?.stream) {
    const answer = await server.call(method, filled(path), body);
    expect([answer.status, answer.body.error]).toEqual([route?.status, undefined]);
    return;
  }
  const frames = await all(server, filled(path), body);
  for (const frame of frames) StreamEvent.parse(frame);
  expect(names(frames)[0]).toBe("init");
  expect(only(frames, "done").data).toEqual({ reason: "completed" });
});

test("the events in docs/reference/claude-api.md are valid", () => {
  const shown = fenced("text").flatMap((text) => [...text.matchAll(/^event: (\w+)$/gm)].map(([, name = ""]) => name));
  const known = StreamEvent.options.map(({ shape }) => shape.event.value as string);
  expect(shown.filter((name) => !known.includes(name))).toEqual([]);
});

test("the README beside this file names only tests that exist", () => {
  const readme = readFileSync(new URL("README.md", import.meta.url), "utf8");
  const named = [...readme.matchAll(/`([\w-]+\.test\.ts)`: ((?:\*[^*]+\*(?:, )?)+)/g)].flatMap(
    ([, file = "", list = ""]) => [...list.matchAll(/\*([^*]+?)(?: …)?\*/g)].map(([, name = ""]) => ({ file, name })),
  );
  expect(named.length).toBeGreaterThan(30);
  const missing = named.filter(
    ({ file, name }) => !readFileSync(new URL(file, import.meta.url), "utf8").includes(name),
  );
  expect(missing).toEqual([]);
});
