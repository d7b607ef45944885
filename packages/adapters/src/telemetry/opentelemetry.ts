import {
  type Counter,
  type Histogram,
  ROOT_CONTEXT,
  SeverityNumber,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Telemetry, TelemetryAttributes, TelemetryValue } from "@skein/core";

export interface OpenTelemetryOptions {
  /**
   * The address of a collector (OTLP over HTTP). The SDK reads headers and other settings from its own environment
   * variables, `OTEL_…`.
   */
  readonly endpoint: string;
  readonly serviceName?: string | undefined;
  /** How often spans and log lines are sent, in ms. Metrics are sent less often. */
  readonly everyMs?: number;
}

const SCOPE = "skein";
const EVERY_MS = 1000;
const VALUES_MS = 10_000;
const CLOSE_MS = 3000;

/**
 * Telemetry through the OpenTelemetry SDK, which collects, retries and sends. Nothing is registered globally, so an
 * OpenTelemetry SDK that the surrounding program uses is not affected. Reasons: docs/decisions/168-opentelemetry.md.
 */
export function createOpenTelemetry({
  endpoint,
  serviceName = "skein",
  everyMs = EVERY_MS,
}: OpenTelemetryOptions): Telemetry {
  const url = (path: string): string => `${endpoint.replace(/\/$/, "")}${path}`;
  const resource = resourceFromAttributes({ "service.name": serviceName });
  // Ids come from the log. So a span can name its parent before the parent has ended, even if another process ends the
  // parent.
  let next = { traceId: "", spanId: "" };
  const spans = new TracerProvider({
    resource,
    idGenerator: { generateTraceId: () => next.traceId, generateSpanId: () => next.spanId },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url: url("/v1/traces") }),
        scheduledDelayMillis: everyMs,
      }),
    ],
  });
  const values = new MeterProvider({
    resource,
    readers: [
      new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter({ url: url("/v1/metrics") }),
        exportIntervalMillis: Math.max(everyMs, Math.min(VALUES_MS, everyMs * 10)),
        exportTimeoutMillis: everyMs,
      }),
    ],
  });
  const lines = new LoggerProvider({
    resource,
    processors: [
      new BatchLogRecordProcessor({
        exporter: new OTLPLogExporter({ url: url("/v1/logs") }),
        scheduledDelayMillis: everyMs,
      }),
    ],
  });
  const tracer = spans.getTracer(SCOPE);
  const meter = values.getMeter(SCOPE);
  const logger = lines.getLogger(SCOPE);
  const instruments = new Map<string, Counter | Histogram>();

  function instrument({ name, kind, unit }: TelemetryValue): Counter | Histogram {
    const known = instruments.get(name);
    if (known) return known;
    const made = kind === "counter" ? meter.createCounter(name, { unit }) : meter.createHistogram(name, { unit });
    instruments.set(name, made);
    return made;
  }

  return {
    span({ traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, error }) {
      next = { traceId, spanId };
      const parent = parentSpanId === undefined ? ROOT_CONTEXT : inside(traceId, parentSpanId);
      const span = tracer.startSpan(
        name,
        {
          kind: kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL,
          startTime: startMs,
          attributes: plain(attributes),
        },
        parent,
      );
      if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
      span.end(endMs);
    },
    value(measured) {
      const { value, attributes } = measured;
      const made = instrument(measured);
      if ("add" in made) made.add(value, plain(attributes));
      else made.record(value, plain(attributes));
    },
    line({ severity, body, attributes, trace: place }) {
      logger.emit({
        severityNumber: severity === "error" ? SeverityNumber.ERROR : SeverityNumber.INFO,
        severityText: severity.toUpperCase(),
        body,
        attributes: plain(attributes),
        ...(place && { context: inside(place.traceId, place.spanId) }),
      });
    },
    async close() {
      const ended = Promise.allSettled([spans.shutdown(), values.shutdown(), lines.shutdown()]);
      let late: NodeJS.Timeout | undefined;
      await Promise.race([ended, new Promise((resolve) => (late = setTimeout(resolve, CLOSE_MS)))]);
      clearTimeout(late);
    },
  };
}

function inside(traceId: string, spanId: string) {
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true });
}

function plain(attributes: TelemetryAttributes): Record<string, string | number | boolean | string[]> {
  return Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [key, typeof value === "object" ? [...value] : value]),
  );
}
