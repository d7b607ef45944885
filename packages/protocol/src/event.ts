import { z } from "zod";
import { contextFacts } from "./facts/context-facts.ts";
import { runtimeFacts } from "./facts/runtime-facts.ts";
import { sessionFacts } from "./facts/session-facts.ts";
import { stepFacts } from "./facts/step-facts.ts";
import { Uuid } from "./ids.ts";

/**
 * The complete list of facts, each with the schema of its data. A new fact breaks the build wherever code has to handle
 * it.
 */
export const FACTS = { ...sessionFacts, ...stepFacts, ...contextFacts, ...runtimeFacts };
export type FactType = keyof typeof FACTS;

export type FactData<Type extends FactType> = z.infer<(typeof FACTS)[Type]>;

/** Something that happened, before it has a place in a log. */
export type Fact = { [Type in FactType]: { readonly event_type: Type; readonly data: FactData<Type> } }[FactType];

/** A fact with the id that its writer made. The id shows when the same fact is appended again. */
export type NewEvent = Fact & { readonly id: string };

/** A fact with its place in the log of its session: the platform API's six keys. */
export type Event = NewEvent & {
  readonly session_id: string;
  /** 1, 2, 3 … inside the session, without gap or repeat. */
  readonly sequence: number;
  readonly created_at: string;
};

/** The fact with the time at which it happened, if facts of its type have one. */
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
 * The version in which facts are written. A worker claims only sessions whose facts it can read.
 *
 * Version 1 is the only one yet, so there is no upgrade code. The first change of a fact's shape raises this number and adds
 * a pure function from version 1 to 2, called where rows become events (`rows.ts` of each store). An event without a version
 * is of version 1.
 */
export const FACT_VERSION = 1;

/** Facts that anyone may append. All others need the lease of the session's driver. */
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
