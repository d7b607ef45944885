import { KnownError, isKnownError } from "@skein/protocol";

/** The admin API of a Restate cluster. */
export interface RestateAdmin {
  /** The admin address of any node. */
  readonly url: string;
  readonly token?: string | undefined;
  readonly fetch?: typeof fetch;
}

/** A version of the workers that Restate knows. */
export interface Deployment {
  readonly id: string;
  readonly uri: string;
  readonly services: readonly string[];
  /** How many wake-ups (requests to work on a session) this version still has to handle. */
  readonly open: number;
}

/**
 * Tells Restate the address of the workers. At a known address, Restate reads the description again. A new address is a
 * new version, which gets all new wake-ups. Wake-ups in progress end at the old address.
 */
export async function registerDeployment(admin: RestateAdmin, uri: string): Promise<string> {
  try {
    return ((await ask(admin, "/deployments", { method: "POST", body: { uri, force: true } })) as { id: string }).id;
  } catch (error) {
    if (!isKnownError(error, "invalid")) throw error;
    throw new KnownError(
      "invalid",
      `Restate cannot read the workers at ${uri}. Start them, and give the address at which Restate reaches them (SKEIN_RESTATE_WORKERS_URL). ${error.message}`,
      { cause: error },
    );
  }
}

/** Lists the versions of a service. The version that gets new wake-ups comes last. */
export async function listDeployments(admin: RestateAdmin, service: string): Promise<readonly Deployment[]> {
  const { deployments } = (await ask(admin, "/deployments")) as {
    deployments: { id: string; uri: string; created_at: string; services: { name: string; revision: number }[] }[];
  };
  const { rows } = (await ask(admin, "/query", {
    method: "POST",
    body: {
      query: `select pinned_deployment_id, last_attempt_deployment_id, count(*) as open from sys_invocation
        where target_service_name = '${service.replaceAll("'", "''")}' and status <> 'completed' group by 1, 2`,
    },
  })) as { rows: { pinned_deployment_id?: string; last_attempt_deployment_id?: string; open: number }[] };
  const revision = (services: readonly { name: string; revision: number }[]): number =>
    services.find(({ name }) => name === service)?.revision ?? 0;
  return deployments
    .filter(({ services }) => services.some(({ name }) => name === service))
    .sort((a, b) => revision(a.services) - revision(b.services))
    .map(({ id, uri, services }) => ({
      id,
      uri,
      services: services.map(({ name }) => name),
      open: rows
        .filter((row) => (row.pinned_deployment_id ?? row.last_attempt_deployment_id) === id)
        .reduce((sum, row) => sum + row.open, 0),
    }));
}

/** Removes a version, even if it still has wake-ups. Callers check first that it has no wake-ups. */
export async function removeDeployment(admin: RestateAdmin, id: string): Promise<void> {
  await ask(admin, `/deployments/${encodeURIComponent(id)}?force=true`, { method: "DELETE" });
}

async function ask(
  { url, token, fetch: send = fetch }: RestateAdmin,
  path: string,
  { method = "GET", body }: { readonly method?: string; readonly body?: unknown } = {},
): Promise<unknown> {
  let answer: Response;
  try {
    answer = await send(`${url}${path}`, {
      method,
      headers: {
        accept: "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(15_000),
    });
  } catch (error) {
    throw new KnownError(
      "store_unavailable",
      `Restate's admin API at ${url} does not answer. Check SKEIN_RESTATE_ADMIN_URL, and that the cluster runs.`,
      { cause: error },
    );
  }
  const text = await answer.text();
  const problem = `Restate's admin API at ${url} answered ${answer.status}: ${text.slice(0, 500)}`;
  // META0003: Restate could not reach the workers. Other statuses from 500 are temporary errors, which stop when all
  // servers of the cluster run again.
  if (answer.status >= 500 && !text.includes("META0003"))
    throw new KnownError(
      "store_unavailable",
      `${problem} A server of the cluster may be starting. Try again in a few seconds.`,
    );
  if (!answer.ok) throw new KnownError("invalid", problem);
  return text === "" ? {} : JSON.parse(text);
}
