/** An attack, the expected reaction, and the tests that try it. */
export interface Attack {
  readonly attack: string;
  readonly expected: string;
  /** The path of the test file below `packages/`. */
  readonly file: string;
  /** Matches the names of the tests in `file` that try this attack. */
  readonly test: RegExp;
}

const LOOP = "server/test/attacks/loop-tools.test.ts";
const CLAUDE = "server/test/attacks/claude-code.test.ts";
const FLOODS = "server/test/attacks/floods.test.ts";
const SANDBOX = "adapters/test/sandboxes/sandboxes.test.ts";

/** Every attack of `npm run attack`. */
export const ATTACKS: readonly Attack[] = [
  {
    attack:
      "Claude Code: read the admin key, the store, /etc/shadow, another session, /proc/1/environ, the environment, by Bash, Read, Write, Edit, Glob, Grep, hook, MCP server, plugin, setting, link, hard link",
    expected: "no canary is found, nothing outside is changed",
    file: CLAUDE,
    test: /finds no secret/,
  },
  {
    attack: "the loop's Bash: read the same things",
    expected: "not there",
    file: LOOP,
    test: /cannot read the admin key/,
  },
  {
    attack: "the loop's Bash: environment and processes",
    expected: "nothing of the server is visible",
    file: LOOP,
    test: /finds no secret/,
  },
  {
    attack: "the loop's file tools: a link out of the folder",
    expected: "not followed",
    file: LOOP,
    test: /follow no link/,
  },
  { attack: "the loop's file tools: a hard link", expected: "cannot be made", file: LOOP, test: /hard link/ },
  {
    attack: "a file name that is swapped while it is read",
    expected: "no text from outside the folder is shown",
    file: LOOP,
    test: /replaced by a link/,
  },
  {
    attack: "links in folders that the server reads itself",
    expected: "refused in every part of the path",
    file: "adapters/test/sandboxes/without-links.test.ts",
    test: /./,
  },
  { attack: "reach 127.0.0.1 and the server's port", expected: "no network", file: LOOP, test: /has no network/ },
  {
    attack: "reach a host that was not opened",
    expected: "only allowed hosts, by the proxy",
    file: LOOP,
    test: /reaches only hosts/,
  },
  {
    attack: "reach metadata, private and loopback addresses, by redirects and changed DNS",
    expected: "refused",
    file: "adapters/test/foreign-addresses/foreign-addresses.test.ts",
    test: /./,
  },
  {
    attack: "the broker: another session's token, another model, after the run, beyond the budget",
    expected: "refused",
    file: CLAUDE,
    test: /the broker rejects another/,
  },
  {
    attack: "the broker: other routes, wrong tokens, large requests",
    expected: "refused",
    file: "adapters/test/sandboxes/model-broker.test.ts",
    test: /./,
  },
  {
    attack: "too many processes of Claude Code",
    expected: "the run ends with an error message, the server continues",
    file: CLAUDE,
    test: /too many processes/,
  },
  {
    attack: "too many processes, a full disk",
    expected: "the command ends with an error message, the server continues",
    file: LOOP,
    test: /the server continues/,
  },
  {
    attack: "limits of processes, memory and file sizes in the sandbox",
    expected: "enforced",
    file: SANDBOX,
    test: /exceed its limits|too many processes/,
  },
  {
    attack: "a process that ignores SIGTERM",
    expected: "ended at its time limit, with everything that it started",
    file: LOOP,
    test: /ignores SIGTERM/,
  },
  {
    attack: "a child of Claude Code that hangs, floods its output, or dies",
    expected: "the run ends, the server continues",
    file: "adapters/test/claude-code/hostile-child.test.ts",
    test: /./,
  },
  {
    attack: "escape by user namespaces and nested sandboxes",
    expected: "refused",
    file: LOOP,
    test: /user namespace|nested sandbox/,
  },
  {
    attack: "escape by ptrace and other calls to the kernel",
    expected: "refused",
    file: LOOP,
    test: /calls to the kernel/,
  },
  { attack: "escape by a set-user-id file", expected: "no rights", file: LOOP, test: /setuid/ },
  { attack: "escape by /proc/self/fd", expected: "no descriptor of the server", file: LOOP, test: /descriptor/ },
  {
    attack: "600 wrong keys",
    expected: "30 x 401, then 429; right keys are accepted",
    file: "server/test/dialects/platform/keys.test.ts",
    test: /600 wrong keys/,
  },
  { attack: "flood: 60 long runs", expected: "another tenant's run completes", file: FLOODS, test: /60 runs/ },
  { attack: "flood: streams", expected: "another tenant gets a stream", file: FLOODS, test: /a part of all streams/ },
  { attack: "flood: large bodies", expected: "another tenant's run completes", file: FLOODS, test: /MiB are read/ },
  {
    attack: "flood: bodies that never arrive, large WebSocket messages",
    expected: "others can still send bodies",
    file: FLOODS,
    test: /never arrive/,
  },
  { attack: "flood: SQL loops", expected: "another tenant's statement is answered", file: FLOODS, test: /SQL loops/ },
  {
    attack: "flood: webhooks that never answer",
    expected: "another tenant's notice arrives",
    file: FLOODS,
    test: /webhooks/,
  },
  {
    attack: "flood: queries of Claude Code",
    expected: "another tenant gets a process",
    file: FLOODS,
    test: /queries of Claude Code/,
  },
  {
    attack: "spend more than a cap: 12 runs at once",
    expected: "never more than the cap",
    file: "server/test/spend-caps.test.ts",
    test: /never spend more/,
  },
  {
    attack: "spend more than a cap with Claude Code",
    expected: "never more than the cap, the run ends with an error message",
    file: "server/test/spend-caps-claude.test.ts",
    test: /never cost more/,
  },
  {
    attack: "more runs at once than a cap allows",
    expected: "further runs wait in line",
    file: "server/test/run-caps.test.ts",
    test: /wait in line/,
  },
  {
    attack: "ask for more than the policy allows",
    expected: "403 with an error message",
    file: "server/test/policy.test.ts",
    test: /beyond the rules of its key/,
  },
  {
    attack: "another tenant's things, on every route",
    expected: "404",
    file: "server/test/security.test.ts",
    test: /every route/,
  },
  {
    attack: "hostile SQL: files, network, settings, writes",
    expected: "refused, nothing of the host in the answer",
    file: "server/test/sql-hostile.test.ts",
    test: /nothing of the host/,
  },
  {
    attack: "hostile SQL: logins of coding agents beside their sessions",
    expected: "not in the sandbox",
    file: "sql/test/sandbox.test.ts",
    test: /finds no login/,
  },
  {
    attack: "hostile SQL: memory, time, rows",
    expected: "ended or cut, the server continues",
    file: "server/test/sql-greedy.test.ts",
    test: /stays within the limits|time limit|1\.5 GB|are cut|two run at a time/,
  },
  { attack: "a stolen backup", expected: "no secret in it", file: "server/test/sealed-secrets.test.ts", test: /./ },
];

/** More test files of a server's protections that `npm run attack` runs. They belong to no single attack. */
const MORE = [
  "packages/server/test/attacks",
  "packages/core/test/secrets",
  "packages/adapters/test/sandboxes",
  "packages/adapters/test/claude-code/walls.test.ts",
  "packages/server/test/dialects/claude/walls.test.ts",
  "packages/server/test/dialects/claude/security.test.ts",
  "packages/server/test/dialects/claude/rights.test.ts",
];

export const FILES: readonly string[] = [...new Set([...MORE, ...ATTACKS.map(({ file }) => `packages/${file}`)])];
