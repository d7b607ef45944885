/** The default sandbox mode of the real command, and what doctor prints on a machine without a sandbox. */
import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { hasBubblewrap } from "../../sql/test/bubblewrap.ts";
import { bin, call, dataFolder, environmentOf, start } from "./skein.ts";

interface Finding {
  readonly what: string;
  readonly state: string;
  readonly says: string;
}

const skein = (home: string, ...args: readonly string[]) => call([...args], { env: environmentOf(home), cwd: home });

/** Returns what `skein doctor` reports about the sandbox. The command `through` starts `skein doctor`. */
async function doctor(home: string, through: readonly string[] = [], ...args: readonly string[]): Promise<Finding> {
  const [command = "", ...rest] = [...through, process.execPath, bin, "doctor", "--json", "--port", "0", ...args];
  // An address that is not loopback needs an operator's key.
  const env = { ...environmentOf(home), SKEIN_API_KEY: "a-key-that-an-operator-has-chosen" } as Record<string, string>;
  // The exit code is 1 if doctor finds something wrong, which these tests expect.
  const { stdout } = await promisify(execFile)(command, rest, { env, cwd: home }).catch(
    (error: unknown) => error as { stdout: string },
  );
  const findings = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Finding);
  const found = findings.find(({ what }) => what === "sandbox");
  if (!found) throw new Error(stdout);
  return found;
}

const NAMESPACE = process.getuid?.() === 0 ? ["unshare", "--net"] : ["unshare", "--user", "--map-root-user", "--net"];
const canUnshare = spawnSync(NAMESPACE[0] ?? "", [...NAMESPACE.slice(1), "true"]).status === 0;
/** Starts a program that may not create namespaces, as in a container without rights. */
const UNPRIVILEGED = ["bwrap", "--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "--"];
const WITHOUT_BUBBLEWRAP = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", "/dev/null", "/usr/bin/bwrap", "--"];

describe.skipIf(!hasBubblewrap)("the sandbox mode that a server chooses if the operator sets none", () => {
  test("the sandbox is preferred for one person on loopback; the server prints whether it is on, and doctor prints the reason", async () => {
    const home = dataFolder();
    expect((await doctor(home)).says).toMatch(
      /^Programs of a session run in a sandbox of their own \(bubblewrap.*not required here, because the server listens on this machine only, and every key has the scope admin\./,
    );
    const server = start(home, ["serve", "--port", "0"]);
    await server.says("Sandbox  on (bubblewrap)\n");
    server.child.kill("SIGTERM");
    await server.ended;
  });

  test.each([
    ["a key that is not an admin's", [["keys", "make", "ci"]], 'because the key "ci" does not have the scope admin'],
    [
      "a second tenant",
      [
        ["keys", "make", "one", "--scope", "admin"],
        ["keys", "make", "two", "--scope", "admin", "--tenant", "acme"],
      ],
      "because there are 2 tenants",
    ],
  ])("the sandbox is required as soon as there is %s", async (_, commands, because) => {
    const home = dataFolder();
    for (const command of commands) expect((await skein(home, ...command)).code).toBe(0);
    expect(await doctor(home)).toMatchObject({ state: "ok", says: expect.stringContaining(`(required, ${because})`) });
  });

  test.skipIf(!canUnshare)("the sandbox is required at an address that is not loopback", async () => {
    // The separate network namespace keeps other machines out.
    const found = await doctor(dataFolder(), NAMESPACE, "--host", "0.0.0.0");
    expect(found.says).toContain("(required, because other machines can reach this server)");
  });

  test.each([
    ["bubblewrap may not make namespaces", UNPRIVILEGED, "this system does not allow user namespaces"],
    ["bubblewrap is missing", WITHOUT_BUBBLEWRAP, 'On Debian: "apt-get install bubblewrap".'],
  ])("if %s, doctor says what to do and what is off", async (_, through, advice) => {
    const home = dataFolder();
    expect(await doctor(home, through)).toMatchObject({
      state: "note",
      says: expect.stringMatching(
        /^This machine has no sandbox\. It is not required here, .*have the rights of the server's user/,
      ),
    });
    await skein(home, "keys", "make", "ci");
    const { state, says } = await doctor(home, through);
    expect([state, says]).toEqual(["wrong", expect.stringContaining("Claude Code and Bash are off.")]);
    expect(says).toContain(advice);
  });
});
