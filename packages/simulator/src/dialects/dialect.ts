import type { IncomingHttpHeaders } from "node:http";
import type { ApiError } from "../api-error.ts";
import type { Step } from "../script.ts";
import type { AssistantMessage, JsonObject, MessagesRequest, Usage } from "../wire.ts";
import type { StreamEvent } from "./stream.ts";

/**
 * A model API that the simulator implements.
 *
 * A dialect only translates. It turns a request into a request of the Messages API. The simulator makes an answer in
 * the format of the Messages API, and the dialect turns this answer into the format of its own API.
 */
export interface Dialect {
  /** The prefix of tool call ids. */
  readonly callPrefix: string;
  /** Throws the error of the API if the request has no key. */
  checkKey(head: RequestHead): void;
  /** Throws the error of the API if the API would reject the request. */
  parse(body: unknown, head: RequestHead): MessagesRequest;
  /** Converts the simulator's counts into the counts that the API reports. */
  readonly usage?: (usage: Usage) => Usage;
  /** The content type of a stream that does not use server-sent events. */
  readonly streamType?: string;
  /** Returns an answer as one JSON document. */
  whole(answer: Answer): JsonObject;
  /** Returns an answer as the events of a stream. */
  events(answer: Answer): readonly StreamEvent[];
  errorBody(error: ApiError, requestId: string): string;
  readonly errorHeaders?: (error: ApiError) => Readonly<Record<string, string>>;
  /** An error in the middle of a stream. */
  errorEvent(error: ApiError, requestId: string): StreamEvent;
}

export interface RequestHead {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

/** An answer with its step of the script and its request. */
export interface Answer {
  readonly message: AssistantMessage;
  readonly request: MessagesRequest;
  /** The request as it was received. */
  readonly asked: JsonObject;
  readonly step: Step;
  /** Milliseconds since 1970. */
  readonly now: number;
}
