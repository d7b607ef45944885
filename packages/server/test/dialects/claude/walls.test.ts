/** The folders of sessions in a sandbox. `attacks/claude-code.test.ts` tests what a session cannot reach. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBubblewrap } from "../../../../sql/test/bubblewrap.ts";
import { scripted } from "../../world.ts";
import { type ClaudeServer, claudeServer } from "./server.ts";
import { all, only } from "./world.ts";

describe.skipIf(!hasBubblewrap)("a server with a required sandbox", () => {
  let server: ClaudeServer;
  beforeAll(async () => {
    server = await claudeServer({ policy: { sandbox: "required" } });
  });
  afterAll(() => server.close());

  const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command } }] });
  const prompt = (label: string, command: string): Record<string, unknown> => ({
    prompt: scripted(label, [bash(command), { text: "Done." }]),
    allowed_tools: ["Bash"],
  });
  /** Returns the results of the last tool calls, as the model got them. */
  const told = (label: string): string => JSON.stringify(server.requests(label).at(-1)?.messages.at(-1)?.content);

  test("a fork has a copy of its parent's files, and a deleted session leaves no files", async () => {
    const { session_id } = only(await all(server, "/api/v1/query", prompt("parent", "echo mine > note")), "init").data;
    const path = `/api/v1/sessions/${session_id}`;
    const fork = only(
      await all(server, `${path}/fork`, prompt("fork", "cat note; echo changed > note; ls -a | wc -l")),
      "init",
    ).data.session_id;
    expect(told("fork")).toContain("mine");
    await all(server, `${path}/resume`, prompt("resume", "cat note"));
    expect(told("resume")).not.toContain("changed");

    const folders = (): readonly string[] => readdirSync(join(server.data, "claude"), { recursive: true }).map(String);
    expect(folders().some((name) => name.endsWith(join("work", session_id)))).toBe(true);
    for (const id of [session_id, fork]) await server.call("DELETE", `/api/v1/sessions/${id}`);
    expect(folders().filter((name) => name.includes(session_id) || name.includes(fork))).toEqual([]);
    expect(existsSync(server.data)).toBe(true);
  });
});
