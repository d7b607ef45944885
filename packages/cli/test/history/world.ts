/** A data directory with one file of each kind, and functions that call the command as a person would. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished, vi } from "vitest";
import { history } from "../../src/commands/history.ts";
import { runGroup } from "../../src/terminal/command-group.ts";

export const bin = fileURLToPath(new URL("../../bin/skein.js", import.meta.url));
export const first = "11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
export const second = "22222222-bbbb-4bbb-8bbb-bbbbbbbbbbbb";
export const evil = "\u001B]52;c;ZXZpbA==\u0007\u001B[2Jcleared \u009B31mred\rover \u202Eturned\u200B";

export interface World {
  readonly root: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  write(path: string, content: string): string;
  /** Runs `skein history` in this process, with `--root`. */
  run(...args: readonly string[]): Promise<{ code: number; out: string; err: string }>;
  /** Runs `skein history` in a separate process. */
  spawn(...args: readonly string[]): { status: number | null; stdout: string; stderr: string };
}

export function createWorld(): World {
  const folder = mkdtempSync(join(tmpdir(), "skein-cli-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const root = join(folder, "claude");
  const env = { SKEIN_CACHE_DIR: join(folder, "cache"), SKEIN_DATA_DIR: join(folder, "skein") };
  const write = (path: string, content: string): string => {
    const target = join(root, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content);
    return target;
  };
  fill(write);
  return {
    root,
    folder,
    env,
    write,
    async run(...args) {
      const out: string[] = [];
      const err: string[] = [];
      const spies = [
        vi.spyOn(process.stdout, "write").mockImplementation((text) => out.push(String(text)) > 0),
        vi.spyOn(process.stderr, "write").mockImplementation((text) => err.push(String(text)) > 0),
      ];
      for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
      try {
        const [command = "", ...rest] = args;
        const code = await runGroup(history, command === "" ? [] : [command, "--root", root, ...rest]);
        return { code, out: out.join(""), err: err.join("") };
      } finally {
        for (const spy of spies) spy.mockRestore();
        vi.unstubAllEnvs();
      }
    },
    spawn: (...args) =>
      spawnSync(process.execPath, [bin, "history", ...args, "--root", root], {
        encoding: "utf8",
        env: { ...process.env, ...env },
      }),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function fill(write: World["write"]): void {
  const line = (fields: Fields): string => `${JSON.stringify(fields)}\n`;
  const chain = (uuid: string, parentUuid: string | null, minute: number, body: Fields): string =>
    line({
      uuid,
      parentUuid,
      isSidechain: false,
      cwd: "/work/app",
      version: "2.1.300",
      gitBranch: "main",
      timestamp: `2026-11-01T10:${String(minute).padStart(2, "0")}:00.000Z`,
      ...body,
    });
  const user = (content: unknown): Fields => ({ type: "user", message: { role: "user", content } });
  const answer = (id: string, content: unknown): Fields => ({
    type: "assistant",
    requestId: `req_${id}`,
    message: {
      id,
      role: "assistant",
      model: "claude-sonnet-4-5-20250929",
      content,
      usage: { input_tokens: 100, output_tokens: 50, cache_creation_input_tokens: 10, cache_read_input_tokens: 1000 },
    },
  });
  write(
    `projects/-work-app/${first}.jsonl`,
    chain("u1", null, 0, user("please fix the flaky parser test")) +
      chain("a1", "u1", 1, answer("m1", [{ type: "text", text: `Looking. ${evil}` }])) +
      chain(
        "a2",
        "a1",
        1,
        answer("m1", [{ type: "tool_use", id: "t1", name: "Bash", input: { command: "npm test -- parser" } }]),
      ) +
      chain(
        "r1",
        "a2",
        2,
        user([{ type: "tool_result", tool_use_id: "t1", content: `FAIL parser\n${evil}\nline three` }]),
      ) +
      chain(
        "a3",
        "r1",
        3,
        answer("m2", [{ type: "text", text: "Token was sk-ant-REDACTME0123456789abcdef in /home/somebody/app" }]),
      ) +
      chain("u2", "a3", 4, user("this way was left")) +
      chain("u3", "a3", 5, user("do it another way")) +
      chain("a4", "u3", 6, answer("m3", [{ type: "text", text: "Done another way." }])) +
      line({ type: "custom-title", customTitle: `Parser ${evil}`, sessionId: first }) +
      line({
        type: "file-history-snapshot",
        messageId: "u1",
        snapshot: {
          messageId: "u1",
          trackedFileBackups: {
            "a.ts": { backupFileName: "0123456789abcdef@v1", version: 1, backupTime: "2026-11-01T10:01:00.000Z" },
          },
        },
      }) +
      line({
        type: "file-history-snapshot",
        messageId: "u3",
        snapshot: {
          messageId: "u3",
          trackedFileBackups: {
            "a.ts": { backupFileName: "0123456789abcdef@v2", version: 2, backupTime: "2026-11-01T10:05:00.000Z" },
          },
        },
      }),
  );
  write(`file-history/${first}/0123456789abcdef@v1`, "one\ntwo\n");
  write(`file-history/${first}/0123456789abcdef@v2`, "one\n2\n");
  write(
    `projects/-work-other/${second}.jsonl`,
    line({
      type: "user",
      uuid: "x1",
      parentUuid: null,
      cwd: "/work/other",
      timestamp: "2026-10-01T10:00:00.000Z",
      message: { role: "user", content: "an older session" },
    }),
  );
  write("plans/make-it-fast.md", "# Make it fast\n\n### One\n- [x] measure\n- [ ] cut\n");
  write(`tasks/${first}/1.json`, JSON.stringify({ id: "1", subject: "write the test", status: "in_progress" }));
  write(`todos/${first}-agent-${first}.json`, JSON.stringify([{ content: "old todo", status: "completed" }]));
}
