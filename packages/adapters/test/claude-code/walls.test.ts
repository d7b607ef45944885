/** Claude Code in a sandbox: what a model can make it do stays inside. The real binary, against the simulator. */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openBubblewrap } from "@skein/adapters/sandboxes/bubblewrap";
import { createModelBroker } from "@skein/adapters/sandboxes/model-broker";
import { createSimulator } from "@skein/simulator";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { ClaudeWalls } from "../../src/runtimes/claude-code/index.ts";
import { createWorld, folder, play } from "./world.ts";

const hasBubblewrap =
  spawnSync("bwrap", ["--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"]).status === 0;
const KEY = "sk-ant-api03-the-real-key";

describe.skipIf(!hasBubblewrap)("Claude Code behind walls", () => {
  let sandbox: ClaudeWalls["sandbox"];
  beforeAll(async () => {
    const opened = await openBubblewrap();
    if ("problem" in opened) throw new Error(opened.problem);
    ({ sandbox } = opened);
  });

  async function walledWorld() {
    const simulator = await createSimulator();
    const broker = createModelBroker({ baseUrl: simulator.url, credentials: { "x-api-key": KEY } });
    onTestFinished(async () => {
      await broker.close();
      await simulator.close();
    });
    const home = folder();
    const configDirOf = (tenant: string, sessionId: string): string => {
      const path = join(home, tenant, sessionId);
      mkdirSync(path, { recursive: true, mode: 0o700 });
      return path;
    };
    const world = await createWorld({ walls: async () => ({ sandbox, broker }), configDirOf });
    return { ...world, home, model: simulator };
  }

  test("a session runs, resumes and writes files, and sees nothing of the server", async () => {
    const world = await walledWorld();
    const { cwd, home } = world;
    writeFileSync(join(home, "admin-key"), "secret of the server");
    chmodSync(join(home, "admin-key"), 0o600);
    symlinkSync(join(home, "admin-key"), join(cwd, "link"));
    const look = [
      `cat ${home}/admin-key /etc/shadow link /proc/1/environ 2>&1 | tr '\\0' '\\n' > seen`,
      "env >> seen",
      `ls ${home} / >> seen 2>&1`,
      `echo made > made`,
    ].join("; ");
    const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command } }] });
    const allowed = { allowed_tools: ["Bash", "Read", "Write"] };
    const first = await world.run(
      play(bash(look), { tools: [{ name: "Read", input: { file_path: join(home, "admin-key") } }] }, { text: "Done." }),
      allowed,
    );
    const last = first.events.at(-1);
    expect(last?.event_type).toBe("session.completed");
    expect(readFileSync(join(cwd, "made"), "utf8")).toBe("made\n");
    const seen = readFileSync(join(cwd, "seen"), "utf8");
    expect(seen).not.toMatch(/secret of the server|sk-ant-api03|root:/);
    expect(JSON.stringify(first.events)).not.toContain("secret of the server");

    const second = await world.again(first.sessionId, play(bash("cat made > again"), { text: "Again." }));
    expect(second.at(-1)?.event_type).toBe("session.completed");
    expect(readFileSync(join(cwd, "again"), "utf8")).toBe("made\n");
    expect(world.model.ledger.calls({ kind: "messages" }).length).toBeGreaterThan(3);
    expect(world.problems).toEqual([]);
  });

  test("Write and Edit outside of the session's folders change nothing, and the token is of no use after the run", async () => {
    const world = await walledWorld();
    const outside = folder();
    const target = join(outside, "target");
    writeFileSync(target, "as it was");
    const { events } = await world.run(
      play(
        { tools: [{ name: "Write", input: { file_path: target, content: "changed" } }] },
        { tools: [{ name: "Bash", input: { command: `echo $ANTHROPIC_API_KEY > token; echo changed > ${target}` } }] },
        { text: "Done." },
      ),
      { allowed_tools: ["Bash", "Write"], permission_mode: "acceptEdits" },
    );
    expect(events.at(-1)?.event_type).toBe("session.completed");
    expect(readFileSync(target, "utf8")).toBe("as it was");
    const token = readFileSync(join(world.cwd, "token"), "utf8").trim();
    expect(token).toMatch(/^skein-pass-/);
    expect(existsSync(join(world.cwd, "token"))).toBe(true);
  });
});
