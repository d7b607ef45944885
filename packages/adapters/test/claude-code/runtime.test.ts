/** Claude Code as a runtime: the real binary of the Claude Agent SDK, against the simulator. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalEngine } from "@skein/adapters/engines/local";
import { createClaudeCode } from "@skein/adapters/runtimes/claude-code";
import { createMemoryStore } from "@skein/core";
import { type ModelRequestSeen, type RuntimeUnderTest, describeRuntime } from "@skein/core/testing";
import { AgentConfig } from "@skein/protocol";
import { createSimulator, script } from "@skein/simulator";

async function openClaudeCode(): Promise<RuntimeUnderTest> {
  const simulator = await createSimulator();
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "skein-claude-")));
  const cwd = join(folder, "work");
  mkdirSync(cwd);
  const bash = (command: string) => ({ name: "Bash", input: { command } });
  let processes = 0;
  return {
    store: async () => createMemoryStore(),
    engine: createLocalEngine,
    runtime(parts) {
      // Each process acts as a separate machine: it knows a session only from the log.
      const home = join(folder, `home-${(processes += 1)}`);
      const claude = createClaudeCode({
        ...parts,
        configDirOf: (tenant) => join(home, tenant),
        apiEnv: {
          ANTHROPIC_BASE_URL: simulator.url,
          ANTHROPIC_API_KEY: "sk-ant-api03-dummy-not-a-key",
          CLAUDE_CODE_MAX_RETRIES: "1",
        },
        // No process is started in advance, because that slows the test down.
        children: { maxAhead: 0 },
      });
      return { runtime: claude, close: claude.close };
    },
    agent({ asks = false, model = "claude-opus-5-5", maxCostMicros = null }) {
      const claude = {
        cwd,
        model,
        allowed_tools: ["Agent", ...(asks ? [] : ["Bash"])],
        agents: { helper: { description: "Helps.", prompt: "You help.", tools: ["Bash"] } },
      };
      return {
        id: "00000000-0000-7000-8000-0000000000cd",
        version: 1,
        status: "active",
        config: AgentConfig.parse({
          name: "Claude Code",
          runtime: "claude-code",
          model,
          max_cost_micros: maxCostMicros,
          extras: { claude },
        }),
      };
    },
    prompt: (steps, label) => `Please do ${label}. ${script(steps, label)}`,
    asked: (label) => simulator.ledger.calls({ kind: "messages", label }) as readonly ModelRequestSeen[],
    calls: {
      effect: (name) => bash(`echo once >> ${name}; echo did ${name}`),
      // The call ends when its file appears, or when the folder of the test is removed.
      held: (name) =>
        bash(
          `echo once >> ${name}; while test -e ${name} && ! test -e ${name}.go; do sleep 0.05; done; echo did ${name}`,
        ),
      question: (question) => ({
        name: "AskUserQuestion",
        input: {
          questions: [
            {
              question,
              header: "Choice",
              multiSelect: false,
              options: [
                { label: "This", description: "One way." },
                { label: "That", description: "Another way." },
              ],
            },
          ],
        },
      }),
      subagent: (prompt) => ({
        name: "Agent",
        input: { description: "Look", subagent_type: "helper", prompt },
      }),
    },
    hasInHand: (events, content) =>
      events.some((event) => event.event_type === "transcript.appended" && JSON.stringify(event).includes(content)),
    effects(name) {
      const file = join(cwd, name);
      return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").length : 0;
    },
    go: (name) => writeFileSync(join(cwd, `${name}.go`), ""),
    async close() {
      await simulator.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

describeRuntime("Claude Code", openClaudeCode, {
  frontend: "its tools are Claude Code's own, and none of them runs in the client",
  subagentUsage:
    "Claude Code reports a subagent's answers when they begin, and few of their output tokens are counted then",
  everyFact: {
    reason: "each fact needs two child processes",
    instead: [
      ["session.started", 1],
      ["runtime.started", 1],
      ["step.generated", 1],
      ["tool.completed", 1],
      ["step.generated", 2],
      ["session.completed", 1],
    ],
  },
});
