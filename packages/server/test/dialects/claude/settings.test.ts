import { ClaudeSettings } from "@skein/adapters/runtimes/claude-code/policy";
import { expect, test } from "vitest";
import { readConfig } from "../../../../skein/src/config.ts";
import { openedByBoth, serveSettings } from "../../../../skein/src/serve/settings.ts";

/** Environment variables with which an operator allows options of Claude Code. */

const opened = (env: Record<string, string>) => serveSettings({}, readConfig(env)).claudeOpened;

test("no option of Claude Code is allowed by default", () => {
  expect(opened({})).toEqual(ClaudeSettings.parse({}));
});

test("the environment allows folders, variables and flags of Claude Code, and the config file allows more", () => {
  const settings = opened({
    SKEIN_CLAUDE_ROOTS: "/srv/work, /srv/more",
    SKEIN_CLAUDE_ENV: "MY_TOKEN",
    SKEIN_CLAUDE_EXTRA_ARGS: "debug-to-stderr",
    SKEIN_CLAUDE_BYPASS_PERMISSIONS: "on",
    SKEIN_CLAUDE_NESTED_AGENTS: "off",
    SKEIN_CLAUDE_IDLE: "2",
  });
  const file = ClaudeSettings.parse({
    roots: ["/srv/third"],
    plugins: { lint: "/srv/lint" },
    processes: { idle: 9, running: 8 },
  });
  expect(openedByBoth(settings, file)).toMatchObject({
    roots: ["/srv/work", "/srv/more", "/srv/third"],
    env: ["MY_TOKEN"],
    extraArgs: ["debug-to-stderr"],
    plugins: { lint: "/srv/lint" },
    bypassPermissions: true,
    nestedAgents: false,
    processes: { idle: 2, running: 8 },
  });
});

test.each([
  [{ SKEIN_CLAUDE_ROOTS: "work" }, 'SKEIN_CLAUDE_ROOTS has "work". Expected an absolute path.'],
  [{ SKEIN_CLAUDE_ENV: "A,LD_PRELOAD" }, 'SKEIN_CLAUDE_ENV has "LD_PRELOAD"'],
  [{ SKEIN_CLAUDE_EXTRA_ARGS: "--verbose" }, 'SKEIN_CLAUDE_EXTRA_ARGS has "--verbose"'],
  [{ SKEIN_CLAUDE_IDLE: "many" }, 'SKEIN_CLAUDE_IDLE is "many"'],
  [{ SKEIN_SANDBOX: "on" }, 'SKEIN_SANDBOX is "on". Expected off, preferred, required.'],
  [{ SKEIN_CLAUDE_BYPASS_PERMISSIONS: "yes" }, 'SKEIN_CLAUDE_BYPASS_PERMISSIONS is "yes"'],
])("the environment %j is rejected with an error message", (env, sentence) => {
  expect(() => opened(env as unknown as Record<string, string>)).toThrow(sentence);
});
