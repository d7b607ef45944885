import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { openSandbox } from "@skein/adapters/sandboxes/bubblewrap";
import { openNone } from "@skein/adapters/sandboxes/none";
import { checkSealedWith, countUnsealed, unservedSessions } from "@skein/core";
import { type KeyInfo, createKeys } from "@skein/server";
import { sandboxProblem } from "@skein/sql/sandbox";
import type { Config } from "skein/config";
import { readRecords } from "skein/stores";
import {
  type ServeFlags,
  type ServeSettings,
  type ServerPolicy,
  checkModel,
  loadCode,
  openPolicy,
  sdkProblem,
  serveSettings,
  wallsState,
} from "skein/serve";
import { counted } from "../terminal/counts.ts";
import { defineCommand } from "../terminal/command.ts";
import { EXIT } from "../terminal/exit-codes.ts";
import { failureOf } from "../terminal/failure.ts";
import { wrapped } from "../terminal/help.ts";
import { JSON_OPTION } from "../terminal/shared-options.ts";
import { visible } from "../terminal/visible-text.ts";
import { SERVER_OPTIONS } from "./server-options.ts";

/** The result of one check. */
interface Finding {
  readonly what: string;
  readonly state: "ok" | "note" | "wrong";
  readonly says: string;
}

/** `skein doctor`: checks everything that a server needs, changes nothing, and prints what to do. */
export const doctor = defineCommand({
  name: "doctor",
  summary:
    "Check everything that a server needs, and say what to do. Changes nothing. Takes the options of `skein serve`.",
  options: { ...SERVER_OPTIONS, json: JSON_OPTION },
  examples: ["skein doctor", "skein doctor --json", "skein doctor --store postgres://localhost/skein"],
  async run({ values, screen, config }) {
    const findings = await findingsOf(values, config);
    for (const finding of findings) {
      const { what, state, says } = finding;
      const head = `${state.padEnd(5)}  ${what.padEnd(8)}  `;
      if (values.json) screen.json(finding);
      else
        screen.out(
          `${head}${wrapped(visible(says), screen.helpColumns - head.length).join(`\n${" ".repeat(head.length)}`)}\n`,
        );
    }
    return findings.some(({ state }) => state === "wrong") ? EXIT.failed : EXIT.completed;
  },
});

async function findingsOf(flags: ServeFlags, config: Config): Promise<readonly Finding[]> {
  const node: Finding = { what: "node", state: "ok", says: process.version };
  let settings: ServeSettings;
  try {
    settings = serveSettings(flags, config);
  } catch (error) {
    return [node, { what: "settings", state: "wrong", says: sentence(error) }];
  }
  return [
    node,
    folder(settings),
    await store(settings),
    ...(await secrets(settings)),
    await port(settings),
    await model(settings),
    await code(settings),
    await sandbox(),
    await walls(settings),
    await claude(settings),
    ...(await redis(settings)),
  ];
}

function folder({ dataDir }: ServeSettings): Finding {
  const what = "data";
  if (!existsSync(dataDir))
    return { what, state: "note", says: `${dataDir} does not exist yet. The first start creates it.` };
  try {
    accessSync(dataDir, constants.W_OK);
  } catch {
    return { what, state: "wrong", says: `${dataDir} cannot be written by this user.` };
  }
  const found = statSync(dataDir);
  if (!found.isDirectory())
    return { what, state: "wrong", says: `${dataDir} is a file. SKEIN_DATA_DIR or --data must name a folder.` };
  const open = (found.mode & 0o077) !== 0;
  return open
    ? {
        what,
        state: "note",
        says: `${dataDir} can be read by other users. The next start of the server sets its mode to 0700.`,
      }
    : { what, state: "ok", says: dataDir };
}

async function store({ storeUrl, dataDir }: ServeSettings): Promise<Finding> {
  const what = "store";
  const kind = storeUrl.split(":")[0] ?? "";
  try {
    const opened = await readRecords(storeUrl);
    if (!opened) return { what, state: "note", says: `${kind}: does not exist yet. The first start creates it.` };
    try {
      const keys = await createKeys({ records: opened.records }).valid();
      const valid = keys.filter(({ revoked_at }) => revoked_at === null).length;
      const kept = existsSync(`${dataDir}/admin-key`) ? readFileSync(`${dataDir}/admin-key`, "utf8").trim() : undefined;
      const known = kept !== undefined && (await createKeys({ records: opened.records }).recognise(kept)) !== undefined;
      const [waiting] = await unservedSessions(opened.records, Date.now());
      if (waiting) return { what, state: "wrong", says: `Session ${waiting.sessionId} waits. ${waiting.missing}` };
      const says = `${kind}: can be opened, ${counted(valid, "valid key")}${known ? ", one of them in the data folder" : ""}.`;
      return opened.isOlder
        ? { what, state: "note", says: `${says} Its schema is older: the next start of the server updates it.` }
        : { what, state: "ok", says };
    } finally {
      await opened.close();
    }
  } catch (error) {
    return { what, state: "wrong", says: sentence(error) };
  }
}

/** Checks whether the secrets in the store are encrypted and can be decrypted. */
async function secrets({ storeUrl, secrets: { vault, lost } }: ServeSettings): Promise<readonly Finding[]> {
  const what = "secrets";
  const fromNowOn =
    "Secrets of webhooks, hooks and sessions are stored unencrypted. Set SKEIN_SECRETS_KEY (`openssl rand -base64 32`) to seal (encrypt) them.";
  try {
    const opened = await readRecords(storeUrl);
    if (!opened) return vault ? [] : [{ what, state: "note", says: fromNowOn }];
    try {
      await checkSealedWith(opened.records, vault, lost, { notes: false });
      const open = await countUnsealed(opened.records);
      if (!vault) return [{ what, state: "note", says: `${fromNowOn} Unencrypted now: ${counted(open, "secret")}.` }];
      return open > 0
        ? [
            {
              what,
              state: "note",
              says: `${counted(open, "unencrypted secret")} in the store. \`skein keys seal\` encrypts the secrets of the store.`,
            },
          ]
        : [{ what, state: "ok", says: `Encrypted with the key ${vault.keyId}.` }];
    } finally {
      await opened.close();
    }
  } catch (error) {
    return [{ what, state: "wrong", says: sentence(error) }];
  }
}

function port({ port: wanted, host }: ServeSettings): Promise<Finding> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", ({ code }: NodeJS.ErrnoException) =>
      resolve({
        what: "port",
        state: "note",
        says: `${host}:${wanted} cannot be used now (${code ?? "unknown"}): a server may be running.`,
      }),
    );
    probe.listen(wanted, host, () =>
      probe.close(() => resolve({ what: "port", state: "ok", says: `${host}:${wanted} is free.` })),
    );
  });
}

async function model(settings: ServeSettings): Promise<Finding> {
  const { anthropicApiKey, anthropicAuthToken: authToken, anthropicBaseUrl } = settings;
  const what = "model";
  if (anthropicApiKey === undefined && authToken === undefined && anthropicBaseUrl === undefined)
    return { what, state: "note", says: "The simulator, because ANTHROPIC_API_KEY is not set." };
  const who = anthropicBaseUrl === undefined ? "Claude" : "The Messages API at the address in ANTHROPIC_BASE_URL";
  const check = await checkModel({ apiKey: anthropicApiKey ?? "none", authToken, baseUrl: anthropicBaseUrl });
  switch (check.outcome) {
    case "taken":
      return { what, state: "ok", says: `${who} answers and accepts the key.` };
    case "refused":
      return {
        what,
        state: "wrong",
        says: `${who} rejects the key in ${authToken === undefined ? "ANTHROPIC_API_KEY" : "ANTHROPIC_AUTH_TOKEN"} (${check.status}). Set the variable to a valid key.`,
      };
    case "untried":
      return {
        what,
        state: "note",
        says: `${who} answers ${check.status} to a request for its models, so the key was not checked.`,
      };
    case "unreachable":
      return {
        what,
        state: "wrong",
        says: `${who} cannot be reached (${check.why}). Runs fail until it can be reached.`,
      };
  }
}

async function code({ configFile }: ServeSettings): Promise<Finding> {
  const what = "code";
  if (configFile === undefined) return { what, state: "ok", says: "No skein.config.ts: agents are created over HTTP." };
  try {
    const { agents, tools, claude } = await loadCode(configFile);
    const missing = missingPlace(claude);
    if (missing !== undefined) return { what, state: "wrong", says: `${configFile}: ${missing}` };
    return { what, state: "ok", says: `${configFile}: ${agents.length} agents, ${tools.size} tools.` };
  } catch (error) {
    return { what, state: "wrong", says: sentence(error) };
  }
}

/**
 * Returns a sentence about the first missing folder or file in Claude Code's settings. The server starts even if a
 * folder is missing.
 */
function missingPlace({
  roots,
  folders,
  plugins,
  settings,
}: Awaited<ReturnType<typeof loadCode>>["claude"]): string | undefined {
  const places: readonly (readonly [string, unknown])[] = [
    ...roots.map((path, index) => [`roots.${index}`, path] as const),
    ...Object.entries(folders).map(([name, { path }]) => [`folders.${name}`, path] as const),
    ...Object.entries(plugins).map(([name, path]) => [`plugins.${name}`, path] as const),
    ...Object.entries(settings).map(([name, path]) => [`settings.${name}`, path] as const),
  ];
  const missing = places.find(([, path]) => typeof path === "string" && !existsSync(path));
  return missing && `claude.${missing[0]}: ${String(missing[1])} does not exist. Make it, or correct the path.`;
}

/** Checks whether Redis answers. A server starts without Redis, but several machines need it. */
async function redis({ redisUrl }: ServeSettings): Promise<readonly Finding[]> {
  if (redisUrl === undefined) return [];
  const { createRedisBus } = await import("@skein/adapters/buses/redis");
  const bus = createRedisBus({ url: redisUrl });
  try {
    await bus.check();
    return [{ what: "redis", state: "ok", says: "Answers at the address in SKEIN_REDIS_URL." }];
  } catch (error) {
    return [{ what: "redis", state: "wrong", says: sentence(error) }];
  } finally {
    await bus.close();
  }
}

async function sandbox(): Promise<Finding> {
  const problem = await sandboxProblem();
  return problem === undefined
    ? { what: "sql", state: "ok", says: "POST /v1/sql answers, in a sandbox of bubblewrap." }
    : { what: "sql", state: "note", says: `POST /v1/sql is off. ${problem}` };
}

/** Checks whether a sandbox confines the programs that a model starts. */
async function walls(settings: ServeSettings): Promise<Finding> {
  const what = "sandbox";
  const isRead = await loadCode(settings.configFile).then(
    () => true,
    () => false,
  );
  if (!isRead) return { what, state: "note", says: "Not checked, because the config file cannot be loaded." };
  try {
    const rules = await rulesOf(settings);
    const { isKept, says } = await wallsState(rules);
    const stands = "sandbox" in (await openSandbox()) && (await rules.sandbox()).mode !== "off";
    return { what, state: isKept ? (stands ? "ok" : "note") : "wrong", says };
  } catch (error) {
    return { what, state: "wrong", says: sentence(error) };
  }
}

async function rulesOf(settings: ServeSettings): Promise<ServerPolicy> {
  return openPolicy(settings, await loadCode(settings.configFile), { valid: () => keysOf(settings) }).rules;
}

async function keysOf({ storeUrl }: ServeSettings): Promise<readonly KeyInfo[]> {
  const opened = await readRecords(storeUrl);
  if (!opened) return [];
  try {
    return await createKeys({ records: opened.records }).valid();
  } finally {
    await opened.close();
  }
}

/** Checks whether Claude Code can run on this machine: the SDK, the sandbox, and who may run it without a sandbox. */
async function claude(settings: ServeSettings): Promise<Finding> {
  const { claudeCode, claudeOpened, configFile } = settings;
  const what = "claude";
  if (!claudeCode) return { what, state: "ok", says: "Claude Code is off (SKEIN_CLAUDE_CODE)." };
  const missing = sdkProblem();
  if (missing !== undefined) return { what, state: "note", says: missing };
  // If the policy is wrong or the store cannot be read, another check reports this.
  const mode = await rulesOf(settings)
    .then(async (rules) => (await rules.sandbox()).mode)
    .catch(() => settings.sandbox ?? "required");
  const isThere = mode !== "off" && "sandbox" in (await openSandbox());
  if (mode === "required" && !isThere)
    return { what, state: "note", says: "Claude Code is off: a sandbox is required, and this machine has none." };
  if (isThere)
    return {
      what,
      state: "ok",
      says: "Claude Code runs in the sandbox. `skein policy explain KEY` says what a key can do.",
    };
  const found = await openNone();
  if ("problem" in found) return { what, state: "wrong", says: `Claude Code cannot be started. ${found.problem}` };
  const opened = [...claudeOpened.keys, ...(await keysInFile(configFile))];
  const who =
    opened.length === 0
      ? "Only keys with the scope admin may run Claude Code: its commands run as the server's user."
      : `Keys with the scope admin may run Claude Code. These keys may also run it, and can so run commands as the server's user: ${opened.join(", ")}.`;
  const { processes, summary } = found.sandbox.walls;
  return { what, state: processes && opened.length === 0 ? "ok" : "note", says: `${summary} ${who}` };
}

/** Returns no keys if the file cannot be loaded. Another check reports this. */
async function keysInFile(configFile: string | undefined): Promise<readonly string[]> {
  if (configFile === undefined) return [];
  return loadCode(configFile).then(
    ({ claude: { keys } }) => keys,
    () => [],
  );
}

function sentence(error: unknown): string {
  return failureOf(error)?.message ?? (error instanceof Error ? error.message : String(error));
}
