import type { Limits, RetentionDays } from "@skein/server";
import type { ServedCode } from "./config-file.ts";
import type { FirstKey } from "./first-key.ts";
import type { ServeSettings } from "./settings.ts";

/** A running server. */
export interface RunningServer {
  readonly url: string;
  /** The address at which `/metrics` needs no key, if the operator set a port for metrics. */
  readonly metricsUrl: string | undefined;
  readonly key: FirstKey;
  readonly model: { readonly description: string; readonly simulated: boolean };
  /** The state of the sandbox in a few words. */
  readonly walls: string;
  /**
   * Other processes on this machine that already served the store when this server started: host, process id, start.
   */
  readonly others: readonly string[];
  /** Whether the console is served at `/`. */
  readonly hasConsole: boolean;
  /** Sentences about settings that are accepted but are probably mistakes. */
  readonly notes: readonly string[];
  /** How many sessions this server runs now. */
  driven(): number;
  /** Rejects new requests, ends the streams, and releases the server's sessions, so that other servers can run them. */
  close(): Promise<void>;
}

export interface StartOptions extends Omit<
  ServeSettings,
  | "configFile"
  | "metricsPort"
  | "traceEndpoint"
  | "traceContent"
  | "traceService"
  | "sqlHistory"
  | "claudeCode"
  | "claudeOpened"
  | "sandbox"
  | "secrets"
  | "auditDays"
  | "redisUrl"
  | "anthropicAuthToken"
  | "claudeOauthToken"
  | "consoleFolder"
  | "history"
  | "filesUrl"
  | "s3"
  | "limits"
  | "retention"
  | "engine"
  | "openedToModels"
> {
  readonly openedToModels?: ServeSettings["openedToModels"];
  /** Default: one process that answers requests and runs sessions. */
  readonly engine?: ServeSettings["engine"];
  readonly metricsPort?: number | undefined;
  readonly redisUrl?: string | undefined;
  readonly filesUrl?: string | undefined;
  readonly s3?: ServeSettings["s3"];
  readonly traceEndpoint?: string | undefined;
  readonly traceContent?: boolean;
  readonly traceService?: string | undefined;
  readonly sqlHistory?: readonly string[];
  readonly history?: ServeSettings["history"];
  readonly claudeCode?: boolean;
  readonly claudeOpened?: ServeSettings["claudeOpened"];
  readonly sandbox?: ServeSettings["sandbox"];
  readonly secrets?: ServeSettings["secrets"];
  readonly auditDays?: number | undefined;
  readonly anthropicAuthToken?: string | undefined;
  readonly claudeOauthToken?: string | undefined;
  readonly code: ServedCode;
  readonly limits?: Partial<Limits>;
  readonly retention?: RetentionDays;
  readonly log?: (line: Readonly<Record<string, unknown>>) => void;
  readonly logRequests?: boolean;
  readonly demoDelayMs?: number;
  /** The folder of the built console. Default: the folder of the console's package. Null: no console. */
  readonly consoleFolder?: string | null | undefined;
  readonly webhookRetryMs?: readonly number[];
}
