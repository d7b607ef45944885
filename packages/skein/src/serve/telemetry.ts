import type { Telemetry, TelemetryAttributes } from "@skein/core";
import { loadPart } from "../optional-parts.ts";
import type { StartOptions } from "./start-options.ts";

type Log = NonNullable<StartOptions["log"]>;

export interface OpenTelemetry {
  /** Undefined if no collector is configured. */
  readonly telemetry: Telemetry | undefined;
  /** Writes a line to the operator's log, and sends it to the collector. */
  readonly log: Log | undefined;
  close(): Promise<void>;
}

/** Opens the telemetry of this server, if the operator configured a collector. */
export async function openTelemetry({ traceEndpoint, traceService, log }: StartOptions): Promise<OpenTelemetry> {
  if (traceEndpoint === undefined) return { telemetry: undefined, log, close: async () => {} };
  const { createOpenTelemetry } = await loadPart.telemetry();
  const telemetry = createOpenTelemetry({ endpoint: traceEndpoint, serviceName: traceService });
  return {
    telemetry,
    log(line) {
      log?.(line);
      telemetry.line(lineOf(line));
    },
    close: () => telemetry.close(),
  };
}

function lineOf({ level, message, event, trace_id, span_id, ...rest }: Readonly<Record<string, unknown>>) {
  const words = [message ?? event, rest["method"], rest["route"], rest["status"]];
  return {
    severity: level === "error" ? ("error" as const) : ("info" as const),
    body: words.filter((word) => typeof word === "string" || typeof word === "number").join(" "),
    attributes: Object.fromEntries(
      Object.entries(rest).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value)),
    ) as TelemetryAttributes,
    ...(typeof trace_id === "string" &&
      typeof span_id === "string" && { trace: { traceId: trace_id, spanId: span_id } }),
  };
}
