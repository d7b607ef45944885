/** A process that runs Claude Code sessions until a test kills it: `claude-server.ts STORE HOME API [LEASE]`. */
import { join } from "node:path";
import { createAnthropicModel } from "@skein/adapters/models/anthropic";
import { createClaudeCode } from "@skein/adapters/runtimes/claude-code";
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import { onlyModel } from "@skein/core";
import { createHost } from "../../../../skein/src/host.ts";

const [file = "", home = "", api = "", lease = "30000"] = process.argv.slice(2);

createHost({
  store: await createSqliteStore({ file }),
  agents: [],
  models: onlyModel(createAnthropicModel({ apiKey: "not used" })),
  report: (error) => process.stderr.write(`${String(error)}\n`),
  runtimes: (parts) =>
    new Map([
      [
        "claude-code",
        createClaudeCode({
          ...parts,
          children: { maxAhead: 0 },
          leaseMs: Number(lease),
          configDirOf: (tenant) => join(home, tenant),
          apiEnv: { ANTHROPIC_BASE_URL: api, ANTHROPIC_API_KEY: "sk-ant-api03-dummy-not-a-key" },
        }),
      ],
    ]),
});
// Tells the parent process that the server works.
process.stdout.write("ready\n");
setInterval(() => {}, 1000);
