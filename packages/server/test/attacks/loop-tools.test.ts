/**
 * Attacks by a key with the scope `run` with the tools of the loop in a sandbox. Part of `npm run attack`. An attack
 * that succeeds causes no harm: files of the machine are opened for writing but not written, processes are looked for
 * but not killed, and nothing is sent beyond loopback.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { standardTools } from "skein";
import { script } from "@skein/simulator";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { hasBubblewrap } from "../../../sql/test/bubblewrap.ts";
import { codeOf } from "../../../skein/src/serve/config-file.ts";
import { startServer } from "../../../skein/src/serve/server.ts";
import { createWorkplaces } from "../../../skein/src/serve/workplaces.ts";
import { type Caller, caller, settled } from "../world.ts";

type Started = Awaited<ReturnType<typeof startServer>>;
let home: string;
let data: string;
let server: Started;
let adminKey: string;
let admin: Caller;
let runner: Caller;
let agentId: string;

beforeAll(async () => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "skein-attack-")));
  data = join(home, "data");
  mkdirSync(data);
  server = await startServer({
    port: 0,
    host: "127.0.0.1",
    storeUrl: `sqlite:${data}/skein.db`,
    dataDir: data,
    apiKey: undefined,
    allowedHosts: [],
    allowedOrigins: [],
    allowedWebhookAddresses: ["127.0.0.1"],
    consoleFolder: null,
    anthropicApiKey: undefined,
    anthropicBaseUrl: undefined,
    code: codeOf({
      tools: await standardTools(),
      policy: { sandbox: "required" },
      claude: { hosts: ["localhost"], limits: { processes: 16, folderBytes: 4 * 1024 * 1024 } },
    }),
  });
  adminKey = server.key.key;
  admin = caller(server.url, adminKey);
  const made = await admin("POST", "/v1/keys", { name: "runner", scopes: ["run"] });
  runner = caller(server.url, String(made.body["key"]));
  const tools = ["Bash", "Read", "Write", "Edit", "Glob", "Grep"];
  agentId = (await admin("POST", "/v1/agents", { name: "Worker", tools })).body.id;
});
afterAll(async () => {
  await server.close();
  rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

type Call = readonly [tool: string, input: Record<string, unknown>];

interface Attack {
  /** Prepares the folder of the session. */
  readonly before?: (folder: string) => void;
  readonly agent?: string;
  /** Whether all calls are in one step and run concurrently. */
  readonly atOnce?: boolean;
}

/** Runs the calls and returns their results. Each call is a separate step, unless `atOnce` is set. */
async function attack(
  calls: readonly Call[],
  { before = () => {}, agent = agentId, atOnce = false }: Attack = {},
): Promise<{ said: string[]; folder: string; id: string }> {
  const { body: session } = await runner("POST", "/v1/sessions", { agent_id: agent });
  const folder = join(data, "work", "default", session.id);
  mkdirSync(folder, { recursive: true });
  before(folder);
  const tools = calls.map(([name, input]) => ({ name, input }));
  const steps = [...(atOnce ? [{ tools }] : tools.map((tool) => ({ tools: [tool] }))), { text: "Done." }];
  await runner("POST", `/v1/sessions/${session.id}/messages`, {
    role: "user",
    content: { text: `Go ${script(steps, "Go")}` },
  });
  await settled(runner, `/v1/sessions/${session.id}`);
  const { body } = await runner("GET", `/v1/sessions/${session.id}/events?limit=200`);
  const said = body.data
    .filter((event) => event["event_type"] === "tool.completed")
    .map((event) => JSON.stringify((event["data"] as { content: unknown }).content));
  expect(said).toHaveLength(calls.length);
  return { said, folder, id: session.id };
}

const bash = async (command: string, timeout = 20_000): Promise<string> =>
  (await attack([["Bash", { command, timeout }]])).said[0] ?? "";

describe.skipIf(!hasBubblewrap)("Bash of the loop, in a sandbox", () => {
  test("Bash works in the folder of its session", async () => {
    const { said, folder, id } = await attack([
      ["Bash", { command: "echo hello > note.txt; pwd; id -u; ls -A" }],
      ["Read", { file_path: "note.txt" }],
    ]);
    expect(said[0]).toContain(`${folder}\\n1000\\nnote.txt`);
    expect(said[1]).toContain("hello");
    expect(readFileSync(join(folder, "note.txt"), "utf8")).toBe("hello\n");
    expect((await runner("DELETE", `/v1/sessions/${id}`)).status).toBe(204);
    expect(existsSync(folder)).toBe(false);
  });

  test("Bash cannot read the admin key, the store, the passwords of the machine, or another session", async () => {
    const other = await attack([["Write", { file_path: "secret.txt", content: "another session's secret" }]]);
    const said = await bash(
      [`${data}/admin-key`, `${data}/skein.db`, "/etc/shadow", join(other.folder, "secret.txt"), "/root/.bashrc"]
        .map((path) => `cat ${path} 2>&1; ls ${path} 2>&1`)
        .join("; "),
    );
    expect(said).not.toContain(adminKey);
    expect(said).not.toContain("another session's secret");
    expect(said).not.toContain("root:");
    expect(said.match(/No such file or directory/g)).toHaveLength(10);
    expect(await bash(`ls ${data} ${join(data, "work", "default")} 2>&1 | cat`)).not.toMatch(/admin-key|skein\.db/);
  });

  test("Bash finds no secret and no process of the server", async () => {
    const said = await bash(
      "env; tr '\\0' '\\n' < /proc/1/environ; cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'; ls -l /proc/self/fd",
    );
    for (const name of Object.keys(process.env).filter((each) => /^(SKEIN|ANTHROPIC|npm_|VITEST)/.test(each)))
      expect(said).not.toContain(`${name}=`);
    expect(said).not.toContain("vitest");
    expect(said).not.toContain(data.replace(/\/data$/, "/data/skein"));
    expect(await bash(`kill -0 ${process.pid} 2>&1; kill -0 ${process.ppid} 2>&1; true`)).toMatch(
      /No such process.*No such process/s,
    );
  });

  test("Bash has no network except the loopback of its sandbox, where the server's port does not answer", async () => {
    const { port } = new URL(server.url);
    expect(await bash(`grep -c : /proc/net/dev; (echo > /dev/tcp/127.0.0.1/${port}) 2>&1; true`)).toMatch(
      /^"1\\n.*[Cc]onnection refused/s,
    );
  });

  test("Bash reaches only hosts that the operator allowed, through the proxy, and its agent can limit it to fewer hosts", async () => {
    const asked: (string | undefined)[] = [];
    const site = createServer((request, response) => {
      asked.push(request.headers.host);
      response.end("welcome");
    });
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void site.close());
    const { port } = site.address() as AddressInfo;
    const get = (host: string): string =>
      `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://${host}:${port}/ HTTP/1.1\\r\\nHost: x\\r\\nProxy-Authorization: Basic %s\\r\\nConnection: close\\r\\n\\r\\n' "$word" >&3; head -1 <&3; exec 3>&-`;
    const command = `word=$(printf %s "$HTTP_PROXY" | sed 's#http://##; s#@.*##' | base64 -w0); ${get("localhost")}; ${get("127.0.0.1")}; ${get("elsewhere.test")}; true`;
    expect(await bash(command)).toMatch(/200 OK.*403 Forbidden.*403 Forbidden/s);
    expect(asked).toEqual([`localhost:${port}`]);

    const closed = await admin("POST", "/v1/agents", { name: "Closed", tools: ["Bash"], extras: { hosts: [] } });
    const { said } = await attack([["Bash", { command: "echo proxy=$HTTP_PROXY" }]], { agent: closed.body.id });
    expect(said[0]).toContain("proxy=\\n");
  });

  test.each([
    ["a user namespace", "unshare -U true 2>&1 && echo ESCAPED"],
    ["a nested sandbox", "bwrap --ro-bind / / true 2>&1 && echo ESCAPED"],
    ["a device", "mknod disk b 8 0 2>&1 && echo ESCAPED"],
    ["a write to the kernel's settings", "( : >> /proc/sys/kernel/core_pattern ) 2>&1 && echo ESCAPED"],
    ["a write to the system", "( : >> /usr/lib/os-release ) 2>&1 && echo ESCAPED"],
    [
      "a descriptor of the server",
      "for f in /proc/[0-9]*/fd/*; do [ -d $f/. ] && ls $f/.. | grep -q skein.db && echo ESCAPED; done",
    ],
  ])("Bash does not escape by %s", async (_, command) => {
    expect(await bash(`${command}; true`)).not.toContain("ESCAPED");
  });

  test.skipIf(process.arch !== "x64")(
    "Bash does not escape by calls to the kernel: ptrace, keys, user faults, bpf, performance events, io_uring, foreign sockets",
    async () => {
      const calls = {
        ptrace: [101, 16, "$child"],
        keyctl: [250, 0, -3, 1],
        userfaultfd: [323],
        bpf: [321],
        perf: [298],
        io_uring: [425, 8],
      };
      const tried = Object.entries(calls).map(
        ([name, [number, ...args]]) =>
          `print "${name} ", (syscall(${number}, ${[...args, 0, 0].join(", ")}) == -1 ? $! + 0 : "ESCAPED"), "\\n";`,
      );
      const vsock = `print "vsock ", (socket(my $s, 40, 1, 0) ? "ESCAPED" : $! + 0), "\\n";`;
      const program = `my $child = fork() || do { sleep 5; exit }; ${tried.join(" ")} ${vsock} kill 9, $child;`;
      const said = await bash(`perl -e '${program}' 2>&1; true`);
      // EPERM, ENOSYS and EAFNOSUPPORT come from the filter. A wrong argument would give another error.
      for (const name of [...Object.keys(calls), "vsock"]) expect(said).toMatch(new RegExp(`${name} (1|38|97)\\\\n`));
    },
  );

  // Outside the sandbox, the file belongs to the server's user, and nothing runs it.
  test("a setuid file gives a command in the sandbox no rights of another user", async () => {
    const said = await bash("cp /usr/bin/id own-id; chmod 4755 own-id; ./own-id -u; grep NoNewPrivs /proc/self/status");
    expect(said).toContain("1000");
    expect(said).toMatch(/NoNewPrivs:\\t1/);
  });

  test.each([
    ["too many processes", "for i in $(seq 1 60); do sleep 30 & done; wait", /may have 16/],
    [
      "a full disk",
      "for i in $(seq 1 30); do head -c 1M /dev/zero > f$i; sleep 0.2; done; sleep 30",
      /more than 4 MiB on disk/,
    ],
  ])("%s: the command ends with an error message, and the server continues", async (_, command, sentence) => {
    expect(await bash(command, 60_000)).toMatch(sentence);
    expect((await admin("GET", "/health")).status).toBe(200);
  });

  test("a command that ignores SIGTERM is ended at its time limit, with everything that it started", async () => {
    const { said, folder } = await attack([
      [
        "Bash",
        {
          command:
            "trap '' TERM; (trap '' TERM; setsid sh -c 'while :; do date >> ticks; sleep 0.05; done') & while :; do sleep 0.1; done",
          timeout: 700,
        },
      ],
    ]);
    expect(said[0]).toContain("stopped after 700 ms");
    const size = (): number => readFileSync(join(folder, "ticks")).length;
    const before = size();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(size()).toBe(before);
  });
});

describe("the file tools of the loop", () => {
  const secret = (): string => join(home, "outside.txt");
  const plant = (folder: string): void => {
    writeFileSync(secret(), "the secret outside");
    symlinkSync(secret(), join(folder, "link.txt"));
    symlinkSync(home, join(folder, "dir"));
  };

  test("reads and writes of file tools follow no link out of the folder", async () => {
    const { said } = await attack(
      [
        ["Read", { file_path: "link.txt" }],
        ["Read", { file_path: "dir/outside.txt" }],
        ["Read", { file_path: `${data}/admin-key` }],
        ["Read", { file_path: "/proc/self/environ" }],
        ["Grep", { pattern: "secret", output_mode: "content" }],
        ["Grep", { pattern: "skein_", path: "dir" }],
        ["Glob", { pattern: "**/*", path: "dir" }],
        ["Edit", { file_path: "link.txt", old_string: "secret", new_string: "changed" }],
        ["Write", { file_path: "dir/planted.txt", content: "planted" }],
        ["Write", { file_path: "../../../planted.txt", content: "planted" }],
      ],
      { before: plant },
    );
    expect(said.join("\n")).not.toContain("the secret outside");
    expect(said.join("\n")).not.toContain(adminKey);
    expect(readFileSync(secret(), "utf8")).toBe("the secret outside");
    expect(readdirSync(home)).not.toContain("planted.txt");
    expect(readdirSync(data)).not.toContain("planted.txt");
  });

  test.skipIf(!hasBubblewrap)(
    "a session cannot make a hard link to a file outside its folder, because it sees no such file",
    async () => {
      writeFileSync(secret(), "the secret outside");
      const { said } = await attack([["Bash", { command: `ln ${secret()} hard.txt 2>&1; ls` }]]);
      expect(said[0]).not.toMatch(/\\nhard/);
    },
  );

  test.skipIf(!hasBubblewrap)(
    "a file that is replaced by a link while it is read shows no text from outside the folder",
    async () => {
      const swap = `end=$((SECONDS + 3)); while [ $SECONDS -lt $end ]; do ln -sfn ${secret()} race; echo mine > own; mv -f own race; done`;
      const plantRace = (folder: string): void => {
        plant(folder);
        writeFileSync(join(folder, "race"), "mine");
      };
      const reads = Array.from({ length: 12 }, (): Call => ["Read", { file_path: "race" }]);
      // All calls of one step run concurrently.
      const { said } = await attack([["Bash", { command: swap }], ...reads], { before: plantRace, atOnce: true });
      expect(said).toHaveLength(13);
      expect(said.join("\n")).not.toContain("the secret outside");
      expect(said.some((each) => each.includes("mine"))).toBe(true);
    },
  );
});

test("if a sandbox is required and bubblewrap is missing, Bash is off and says what to install; file tools still work", async () => {
  const problem =
    'The sandbox needs bubblewrap, which is not on this machine. On Debian: "apt-get install bubblewrap".';
  const noted: unknown[] = [];
  const workplaces = createWorkplaces({
    dataDir: home,
    rules: {
      strictestSandbox: async () => ({ mode: "required", because: "other machines can reach this server" }),
      commonHosts: () => [],
    },
    limits: { memoryBytes: 1024 ** 3 },
    store: { get: async () => undefined },
    report: () => {},
    open: async () => ({ problem }),
    refused: async (...told) => void noted.push(told),
  });
  const session = { tenant: "acme", sessionId: "s" };
  const tools = await standardTools();
  const run = (name: string, input: object) =>
    tools
      .find((tool) => tool.name === name)
      ?.run(input, {
        sessionId: "s",
        runId: "r",
        toolUseId: "t",
        idempotencyKey: "k",
        workingDirectory: null,
        workplace: () => workplaces.of(session),
        signal: AbortSignal.timeout(10_000),
      });
  await expect(run("Bash", { command: "echo ran > ran.txt" })).rejects.toThrow(
    `Bash is off on this server: a sandbox is required, because other machines can reach this server. ${problem}`,
  );
  expect(noted).toEqual([[session, problem]]);
  await run("Write", { file_path: "a.txt", content: "a" });
  expect(readdirSync(join(home, "work", "acme", "s"))).toEqual(["a.txt"]);
  await workplaces.remove(session);
  expect(readdirSync(join(home, "work", "acme"))).toEqual([]);
  workplaces.close();
});
