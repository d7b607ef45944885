/** The processes of a cluster, their number and their variables. `deploy/` has the same topology for containers. */

/** The addresses and keys that all processes of a cluster share. */
export interface Places {
  readonly postgres: string;
  readonly redis: string;
  readonly s3: { readonly endpoint: string; readonly bucket: string; readonly keyId: string; readonly secret: string };
  readonly restate: readonly string[];
  readonly restateAdmin: string;
  readonly identityKey: string;
  /** The address of the load balancer in front of the workers. */
  readonly workers: string;
  readonly model: { readonly url: string; readonly key: string };
  readonly apiKey: string;
  /** Encrypts secrets in the store. Every process needs the same key. */
  readonly secretsKey: string;
}

/** One process of Skein. */
export interface Process {
  readonly role: "api" | "worker";
  readonly port: number;
  /** The port on which a worker listens for Restate. */
  readonly endpointPort: number;
  readonly dataDir: string;
}

/** How many processes there are of each kind. */
export const COUNTS = { api: 2, worker: 2, restate: 3, postgres: 1, redis: 1, s3: 1, nginx: 1 } as const;

/** The environment of an api or worker process. */
export function environmentOf({ role, port, endpointPort, dataDir }: Process, places: Places): Record<string, string> {
  const shared = {
    SKEIN_ROLE: role,
    SKEIN_PORT: String(port),
    SKEIN_HOST: "127.0.0.1",
    SKEIN_DATA_DIR: dataDir,
    SKEIN_ALLOWED_HOSTS: "localhost",
    SKEIN_API_KEY: places.apiKey,
    SKEIN_SECRETS_KEY: places.secretsKey,
    SKEIN_STORE_URL: places.postgres,
    SKEIN_REDIS_URL: places.redis,
    SKEIN_FILES: `s3://${places.s3.bucket}`,
    AWS_ACCESS_KEY_ID: places.s3.keyId,
    AWS_SECRET_ACCESS_KEY: places.s3.secret,
    AWS_ENDPOINT_URL_S3: places.s3.endpoint,
    SKEIN_ENGINE: "restate",
    SKEIN_RESTATE_URL: places.restate.join(","),
    ANTHROPIC_API_KEY: places.model.key,
    ANTHROPIC_BASE_URL: places.model.url,
  };
  if (role === "api") return shared;
  return {
    ...shared,
    SKEIN_RESTATE_ENDPOINT: `127.0.0.1:${endpointPort}`,
    SKEIN_RESTATE_IDENTITY_KEYS: places.identityKey,
  };
}

/** The environment of `skein restate register`, which is run once for each version of the workers. */
export function registrationOf(places: Places): Record<string, string> {
  return { SKEIN_RESTATE_ADMIN_URL: places.restateAdmin, SKEIN_RESTATE_WORKERS_URL: places.workers };
}
