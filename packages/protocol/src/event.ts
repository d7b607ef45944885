import { z } from "zod";
import { contextFacts } from "./facts/context-facts.ts";
import { runtimeFacts } from "./facts/runtime-facts.ts";
import { sessionFacts } from "./facts/session-facts.ts";
import { stepFacts } from "./facts/step-facts.ts";
import { Uuid } from "./ids.ts";

/**
 * The complete list of facts (things that happen in a session), each with the schema of its data. After a new fact is
 * added, the compiler reports all code that must handle it.
 */
export const FACTS = { ...sessionFacts, ...stepFacts, ...contextFacts, ...runtimeFacts };
export type FactType = keyof typeof FACTS;

export type FactData<Type extends FactType> = z.infer<(typeof FACTS)[Type]>;

/** A fact that is not stored yet. */
export type Fact = { [Type in FactType]: { readonly event_type: Type; readonly data: FactData<Type> } }[FactType];

/** A fact with an id from its writer. The store uses the id to recognise a repeated append. */
export type NewEvent = Fact & { readonly id: string };

/** A stored fact with the six keys of the platform API. */
export type Event = NewEvent & {
  readonly session_id: string;
  /** Counts the events of the session from 1, without gaps. */
  readonly sequence: number;
  readonly created_at: string;
};

/** Adds `happened_at` to a fact if facts of this type can have it. */
export function happenedThen<Told extends Fact>(fact: Told, at: string): Told {
  return "happened_at" in FACTS[fact.event_type].shape ? { ...fact, data: { happened_at: at, ...fact.data } } : fact;
}

export function isFactType(type: string): type is FactType {
  return Object.hasOwn(FACTS, type);
}

/** Parses an event that this process did not make, for example from an exported file. */
export const Event = z
  .object({
    id: Uuid,
    session_id: Uuid,
    sequence: z.int().positive(),
    event_type: z.string(),
    data: z.unknown(),
    created_at: z.iso.datetime(),
  })
  .transform((event, context): Event => {
    if (!isFactType(event.event_type)) {
      context.addIssue({
        code: "custom",
        path: ["event_type"],
        message: `There is no event type "${event.event_type}".`,
      });
      return z.NEVER;
    }
    const data = FACTS[event.event_type].safeParse(event.data);
    for (const { path, message } of data.error?.issues ?? [])
      context.addIssue({ code: "custom", path: ["data", ...path], message });
    return event as Event;
  });

/**
 * The version of new facts. A worker claims only sessions with facts that it can read.
 *
 * So far only version 1 exists, and no code upgrades facts. The first change of a fact's schema must raise this number
 * and add a function from version 1 to 2. `rows.ts` of each store must call this function. An event without a version
 * has version 1.
 */
export const FACT_VERSION = 1;

/**
 * Facts that any process may append. All other facts need the session's lease, which is the exclusive right of one
 * worker to run the session.
 */
const FROM_OUTSIDE: ReadonlySet<FactType> = new Set<FactType>([
  "session.created",
  "session.edited",
  "message.copied",
  "prompt.accepted",
  "cancel.requested",
  "await.answered",
  "control.requested",
  "rewind.requested",
]);

export function needsLease(type: FactType): boolean {
  return !FROM_OUTSIDE.has(type);
}
