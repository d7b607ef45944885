/** A server that requires a sandbox: a session can touch only what is its own. The real Claude Code and the real bubblewrap. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBubblewrap } from "../../../../sql/test/bubblewrap.ts";
import { scripted } from "../../world.ts";
import { type ClaudeServer, claudeServer } from "./server.ts";
import { all, only } from "./world.ts";

describe.skipIf(!hasBubblewrap)("a server that requires a sandbox", () => {
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
  /** What the model was told about its last calls. */
  const told = (label: string): string => JSON.stringify(server.requests(label).at(-1)?.messages.at(-1)?.content);

  test("Bash finds no key, no store, no other session, and no secret in its environment", async () => {
    const first = only(
      await all(server, "/api/v1/query", prompt("one", "echo of-another-session > file; pwd")),
      "init",
    );
    const look = `cat ${server.data}/admin-key ${server.data}/skein.db; ls -R ${server.data} | grep -v :; find / -name file -newer /etc/passwd 2>/dev/null; env; cat /proc/1/environ; echo looked`;
    await all(server, "/api/v1/query", prompt("two", look));
    const seen = told("two");
    expect(seen).toContain("looked");
    expect(seen).not.toMatch(/sk-ant-api03|SQLite format|of-another-session|skein.db[^:]*\\n[^:]*admin/);
    expect(seen).not.toContain(readFileSync(join(server.data, "admin-key"), "utf8").trim());
    expect(seen).not.toContain(first.data.session_id);
  });

  test("a fork has a copy of the files, and a deleted session leaves none", async () => {
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
