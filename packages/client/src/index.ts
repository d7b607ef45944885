import { type Calls, type ClientOptions, createCalls } from "./client.ts";
import {
  type ConnectionOptions,
  type FollowChangesOptions,
  type FollowOptions,
  type Followed,
  type FollowedChange,
  type FollowedHistory,
  followChanges,
  followHistory,
  followSession,
} from "./follow.ts";

export { type CallInput, type Calls, type ClientCall, type ClientOptions, SkeinError } from "./client.ts";
export type {
  ConnectionOptions,
  FollowChangesOptions,
  FollowOptions,
  Followed,
  FollowedChange,
  FollowedHistory,
} from "./follow.ts";
export { type SseFrame, sseFrames } from "./sse-frames.ts";

/** Calls a Skein server, from a browser or from Node. */
export interface Client extends Calls {
  /** Follows a session: its events and drafts as they happen. The client reconnects as often as needed. */
  follow(sessionId: string, options?: FollowOptions): AsyncGenerator<Followed>;
  /** Follows the changes of the tenant's sessions. The client reconnects as often as needed. */
  followChanges(options?: FollowChangesOptions): AsyncGenerator<FollowedChange>;
  /** Follows the changes of the sessions of coding agents. The client reconnects as often as needed. */
  followHistory(options?: ConnectionOptions): AsyncGenerator<FollowedHistory>;
}

export function createClient(options: ClientOptions): Client {
  return {
    ...createCalls(options),
    follow: (sessionId, follow) => followSession(options, sessionId, follow),
    followChanges: (follow) => followChanges(options, follow),
    followHistory: (follow) => followHistory(options, follow),
  };
}
