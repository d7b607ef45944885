/**
 * Tries to reach foreign addresses with WebFetch, as an MCP server's address, and with Bash. Prints the reached
 * addresses. It runs in a separate network namespace and is the server at these addresses. So no request leaves the
 * namespace.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBubblewrap } from "@skein/adapters/sandboxes/bubblewrap";
import { openHosts } from "@skein/adapters/sandboxes/host-gate";
import { createGuardedFetch, createStandardTools } from "@skein/adapters/tools";
import type { Workplace } from "@skein/core";

const PUBLIC = "93.184.216.34";
const METADATA = "169.254.169.254";

const reached: string[] = [];
const server = createServer((request, response) => {
  reached.push(String(request.socket.localAddress).replace("::ffff:", ""));
  const to = new URL(request.url ?? "/", "http://here").searchParams.get("to");
  if (to !== null) response.writeHead(302, { location: to });
  response.end("welcome");
});
await new Promise<void>((resolve) => server.listen(80, "::", resolve));

/** How often each name was resolved. `lookup` answers like the DNS server of an attacker. */
const asked = new Map<string, number>();
const lookup = ((host: string, _options: unknown, done: (error: Error | null, all: unknown[]) => void) => {
  const times = (asked.get(host) ?? 0) + 1;
  asked.set(host, times);
  const address = (value: string) => ({ address: value, family: value.includes(":") ? 6 : 4 });
  const names: Record<string, readonly string[]> = {
    "public.test": [PUBLIC],
    "metadata.test": [METADATA],
    "private.test": ["10.1.2.3"],
    "loopback.test": ["127.0.0.1"],
    "both.test": [PUBLIC, METADATA],
    // This name resolves to a public address for the check, and to a private address for the call.
    "changing.test": [times % 2 === 1 ? PUBLIC : METADATA],
  };
  const found = names[host];
  if (!found) return done(new Error(`There is no ${host}.`), []);
  done(null, found.map(address));
}) as never;

const LITERALS = (process.env["LITERALS"] ?? "").split(" ").filter(Boolean);
const NAMES = ["metadata.test", "private.test", "loopback.test", "both.test", "localhost"];
const REDIRECTS = [METADATA, "10.1.2.3", "127.0.0.1", "metadata.test"].map(
  (host) => `http://public.test/?to=${encodeURIComponent(`http://${host}/`)}`,
);
const forbidden = [...[...LITERALS, ...NAMES].map((host) => `http://${host}/`), ...REDIRECTS];

/** A shell function that sends requests through the proxy, and follows redirects. */
const THROUGH_PROXY = `
password=$(printf %s "$HTTP_PROXY" | sed 's#http://##; s#@.*##' | base64 -w0)
for i in 1 2 3 4 5 6 7 8 9; do ( : <> /dev/tcp/127.0.0.1/3128 ) 2>/dev/null && break; sleep 0.1; done
get() {
  exec 3<>/dev/tcp/127.0.0.1/3128 || return
  printf 'GET %s HTTP/1.1\\r\\nHost: x\\r\\nProxy-Authorization: Basic %s\\r\\nConnection: close\\r\\n\\r\\n' "$1" "$password" >&3
  to=$(grep -i '^location:' <&3 | sed 's/^[^ ]* //' | tr -d '\\r')
  exec 3>&-
  if [ -n "$to" ]; then get "$to"; fi
}
`;

const folder = mkdtempSync(join(tmpdir(), "skein-foreign-"));
const results: Record<string, unknown> = {};
try {
  const opened = await openBubblewrap();
  const hosts = ["*.test", "localhost", ...LITERALS.filter((each) => /^[a-z0-9.-]+$/.test(each))];
  const workplace = async (): Promise<Workplace> => ({
    folder,
    sandbox: "sandbox" in opened ? opened.sandbox : undefined,
    openHosts: () => openHosts(hosts, { lookup }),
  });
  const tools = createStandardTools({ folder, web: { lookup } });
  const run = (name: string, input: object): Promise<unknown> =>
    tools
      .find((tool) => tool.name === name)
      ?.run(input, {
        sessionId: "s",
        runId: "r",
        toolUseId: "t",
        idempotencyKey: "k",
        workingDirectory: null,
        workplace,
        signal: AbortSignal.timeout(60_000),
      }) ?? Promise.resolve();

  const during = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
    reached.length = 0;
    await work();
    return [...new Set(reached)];
  };
  const ignored = (): void => {};

  results["WebFetch"] = await during(async () => {
    for (const url of forbidden) await run("WebFetch", { url }).catch(ignored);
    for (let time = 0; time < 6; time++) await run("WebFetch", { url: "http://changing.test/" }).catch(ignored);
  });
  results["an MCP server's address"] = await during(async () => {
    const send = createGuardedFetch({ lookup });
    for (const url of forbidden) await send(url).catch(ignored);
    for (let time = 0; time < 6; time++) await send("http://changing.test/").catch(ignored);
  });
  if ("sandbox" in opened) {
    results["Bash through the proxy"] = await during(async () => {
      const urls = [...forbidden, ...Array.from({ length: 6 }, () => "http://changing.test/")];
      await run("Bash", { command: `${THROUGH_PROXY}\n${urls.map((url) => `get '${url}'`).join("\n")}\ntrue` });
    });
    results["Bash without the proxy"] = await during(async () => {
      const direct = [PUBLIC, METADATA, "10.1.2.3", "127.0.0.1"].map((host) => `( : <> /dev/tcp/${host}/80 )`);
      await run("Bash", { command: `${direct.join("; ")} 2>/dev/null; true` });
    });
  }
  results["what was opened"] = await during(() =>
    run("Bash", { command: `${THROUGH_PROXY}\nget http://public.test/` }),
  );
} finally {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(JSON.stringify(results));
