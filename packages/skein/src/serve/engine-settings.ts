import { KnownError } from "@skein/protocol";
import type { EngineConfig } from "../config.ts";

/** What a process does: answer requests, run sessions, or both. */
type Role = "all" | "api" | "worker";

/** The addresses of a Restate cluster and of this worker. */
export interface RestateSettings {
  readonly ingressUrls: readonly string[];
  readonly adminUrl: string | undefined;
  /** Where this worker listens for Restate. */
  readonly endpoint: { readonly host: string; readonly port: number };
  /** The address that Restate uses to reach the workers. Usually it belongs to a load balancer. */
  readonly workersUrl: string | undefined;
  readonly identityKeys: readonly string[];
  /** The name of Skein's virtual object in Restate. Two Skein clusters with one Restate need different names. */
  readonly service: string;
  readonly token: string | undefined;
}

/** The role and the engine of a process. */
export interface EngineSettings {
  readonly role: Role;
  /** Undefined for the local engine. */
  readonly restate: RestateSettings | undefined;
}

const LOOPBACK = ["127.0.0.1", "localhost", "::1"];
const DEFAULT_ENDPOINT = "127.0.0.1:9080";

/** Reads the role and the engine from the settings. Throws `invalid` if a setting is wrong. */
export function engineSettings(config: EngineConfig, role = config.role ?? "all", storeUrl = ""): EngineSettings {
  if (role !== "all" && role !== "api" && role !== "worker")
    throw new KnownError("invalid", `The role is "${role}". Expected all, api or worker (--role or SKEIN_ROLE).`);
  if (role !== "all" && !/^postgres(ql)?:/.test(storeUrl))
    throw new KnownError(
      "invalid",
      `A process with the role ${role} shares its store with others: set SKEIN_STORE_URL to a postgres:// address.`,
    );
  const { engine = "local" } = config;
  if (engine !== "local" && engine !== "restate")
    throw new KnownError("invalid", `SKEIN_ENGINE is "${engine}". Expected "local" or "restate".`);
  return { role, restate: engine === "restate" ? restateSettings(config.restate) : undefined };
}

/** Checks the values of SKEIN_RESTATE_…. */
export function restateSettings(config: EngineConfig["restate"]): RestateSettings {
  const { ingressUrls, adminUrl, workersUrl, identityKeys, service = "skein-session", token } = config;
  if (ingressUrls.length === 0)
    throw new KnownError(
      "invalid",
      "SKEIN_ENGINE is restate: set SKEIN_RESTATE_URL to the ingress of your Restate cluster.",
    );
  for (const [name, url] of [
    ...ingressUrls.map((one) => ["SKEIN_RESTATE_URL", one] as const),
    ["SKEIN_RESTATE_ADMIN_URL", adminUrl] as const,
    ["SKEIN_RESTATE_WORKERS_URL", workersUrl] as const,
  ])
    if (url !== undefined && !/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
      throw new KnownError("invalid", `${name} has "${url}". Expected an address like http://restate:8080.`);
  for (const key of identityKeys)
    if (!/^publickeyv1_[1-9A-HJ-NP-Za-km-z]{20,60}$/.test(key))
      throw new KnownError(
        "invalid",
        `SKEIN_RESTATE_IDENTITY_KEYS has "${key}". Expected publickeyv1_…, as Restate logs it when it starts.`,
      );
  if (!/^[A-Za-z][A-Za-z0-9_-]{0,62}$/.test(service))
    throw new KnownError("invalid", `SKEIN_RESTATE_SERVICE is "${service}". Expected letters, digits, - and _.`);
  const written = config.endpoint ?? DEFAULT_ENDPOINT;
  const [, host = "", port = ""] = /^\[?([^\]]*?)\]?:(\d{1,5})$/.exec(written) ?? [];
  if (host === "" || Number(port) > 65_535)
    throw new KnownError("invalid", `SKEIN_RESTATE_ENDPOINT is "${written}". Expected an address like 0.0.0.0:9080.`);
  if (!LOOPBACK.includes(host) && identityKeys.length === 0)
    throw new KnownError(
      "invalid",
      `SKEIN_RESTATE_ENDPOINT ${written} can be reached from other machines: set SKEIN_RESTATE_IDENTITY_KEYS, so that only your Restate cluster can call it.`,
    );
  const trimmed = (url: string): string => url.replace(/\/+$/, "");
  return {
    ingressUrls: ingressUrls.map(trimmed),
    adminUrl: adminUrl === undefined ? undefined : trimmed(adminUrl),
    endpoint: { host, port: Number(port) },
    workersUrl: workersUrl === undefined ? undefined : trimmed(workersUrl),
    identityKeys,
    service,
    token,
  };
}
