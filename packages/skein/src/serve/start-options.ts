import type { Limits } from "@skein/server";
import type { ServedCode } from "./config-file.ts";
import type { FirstKey } from "./first-key.ts";
import type { ServeSettings } from "./settings.ts";

/** A server that runs: sessions are driven, requests answered. */
export interface RunningServer {
  readonly url: string;
  /** Where `/metrics` needs no key, if the operator named a port for it. */
  readonly metricsUrl: string | undefined;
  readonly key: FirstKey;
  readonly model: { readonly description: string; readonly simulated: boolean };
  /** How the walls stand around programs that a model can steer, as a sentence. */
  readonly walls: string;
  /** Whether the console is served at `/`. */
  readonly hasConsole: boolean;
  /** Takes no more work, tells the streams, and gives back what it was doing. */
  close(): Promise<void>;
}

export interface StartOptions extends Omit<
  ServeSettings,
  | "configFile"
  | "metricsPort"
  | "traceEndpoint"
  | "sqlHistory"
  | "claudeCode"
  | "claudeOpened"
  | "sandbox"
  | "redisUrl"
  | "anthropicAuthToken"
  | "claudeOauthToken"
  | "consoleFolder"
  | "history"
  | "filesUrl"
  | "s3"
  | "limits"
  | "engine"
> {
  /** Everything in one process, driven by it, unless told. */
  readonly engine?: ServeSettings["engine"];
  readonly metricsPort?: number | undefined;
  readonly redisUrl?: string | undefined;
  readonly filesUrl?: string | undefined;
  readonly s3?: ServeSettings["s3"];
  readonly traceEndpoint?: string | undefined;
  readonly sqlHistory?: readonly string[];
  readonly history?: ServeSettings["history"];
  readonly claudeCode?: boolean;
  readonly claudeOpened?: ServeSettings["claudeOpened"];
  readonly sandbox?: ServeSettings["sandbox"];
  readonly anthropicAuthToken?: string | undefined;
  readonly claudeOauthToken?: string | undefined;
  readonly code: ServedCode;
  readonly limits?: Partial<Limits>;
  readonly log?: (line: Readonly<Record<string, unknown>>) => void;
  readonly logRequests?: boolean;
  readonly demoDelayMs?: number;
  /** Where the built console is, unless in its package; null for none. */
  readonly consoleFolder?: string | null | undefined;
  readonly webhookRetryMs?: readonly number[];
}
