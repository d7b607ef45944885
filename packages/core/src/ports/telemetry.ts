/**
 * An operation with its duration and its place in a trace. Ids are hexadecimal: 32 digits for a trace, 16 for a span.
 */
export interface TelemetrySpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** `client`: a call to another program or service. */
  readonly kind: "internal" | "client";
  /** Milliseconds since 1970. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: TelemetryAttributes;
  /** Why the operation failed; left out if it did not fail. */
  readonly error?: string;
}

export type TelemetryAttributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** A number that was measured once. */
export interface TelemetryValue {
  readonly name: string;
  readonly kind: "counter" | "histogram";
  /** The unit in the notation of UCUM: `s`, `{token}`. */
  readonly unit: string;
  readonly value: number;
  readonly attributes: TelemetryAttributes;
}

/** A line of the log of a process. */
interface TelemetryLine {
  readonly severity: "info" | "error";
  readonly body: string;
  readonly attributes: TelemetryAttributes;
  /** The trace that the line belongs to. */
  readonly trace?: { readonly traceId: string; readonly spanId: string };
}

/** Sends spans, values and log lines to a collector in the background. Data that cannot be sent is dropped. */
export interface Telemetry {
  span(span: TelemetrySpan): void;
  value(value: TelemetryValue): void;
  line(line: TelemetryLine): void;
  /** Sends the remaining data, for a few seconds at most. */
  close(): Promise<void>;
}
