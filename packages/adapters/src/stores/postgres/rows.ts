import {
  COUNTERS,
  type Counters,
  RUN_COUNTERS,
  type RunCounters,
  costBreakdown,
  costTotals,
  modelTotals,
  usageTotals,
} from "@skein/core";
import type { Await, Checkpoint, Event, JsonObject, MessageRow, Run, Session } from "@skein/protocol";
import type { TextRow } from "./query.ts";

/** Reads the columns of a row in the order of the select list. */
interface Columns {
  text(): string;
  textOrNull(): string | null;
  number(): number;
  numberOrNull(): number | null;
  instant(): string;
  instantOrNull(): string | null;
  json(): unknown;
  flag(): boolean;
}

function columns(row: TextRow): Columns {
  let next = 0;
  const take = (): string | null => row[next++] ?? null;
  const number = (): number => Number(take());
  const numberOrNull = (): number | null => {
    const text = take();
    return text === null ? null : Number(text);
  };
  const instantOrNull = (): string | null => {
    const milliseconds = take();
    return milliseconds === null ? null : new Date(Number(milliseconds)).toISOString();
  };
  return {
    text: () => take() ?? "",
    textOrNull: take,
    number,
    numberOrNull,
    instant: () => instantOrNull() ?? "",
    instantOrNull,
    json: () => JSON.parse(take() ?? "null"),
    flag: () => take() === "t",
  };
}

const at = (column: string): string => `skein.milliseconds(${column})`;

/** The body of an event as text. Needs `skein.events e`. */
export const BODY_COLUMN =
  "case when e.blob is null then e.data::text else (select b.body from skein.blobs b where b.hash = e.blob) end";

/** The columns of an event, with its body. Needs `skein.events e`. */
export const EVENT_COLUMNS = `e.session_id, e.sequence, e.id, e.event_type, ${at("e.created_at")}, ${BODY_COLUMN}`;

export function eventOf(row: TextRow): Event {
  // This code has no loop, because it runs for every event of every log that is read.
  const [session_id, sequence, id, event_type, created_at, data] = row;
  return {
    id,
    session_id,
    sequence: Number(sequence),
    event_type,
    data: JSON.parse(data ?? "null"),
    created_at: new Date(Number(created_at)).toISOString(),
  } as Event;
}

/** The columns of a session. Needs `skein.sessions s` and `skein.heads h`. */
export const SESSION_COLUMNS = `s.id, s.tenant, s.agent_id, s.agent_version, s.title, to_json(s.tags), s.model, s.model_id,
  s.working_directory, s.metadata::text, s.status, s.outcome, s.run_id, h.current_step, h.container_id,
  ${at("s.created_at")}, ${at("h.updated_at")}, ${at("s.started_at")}, ${at("s.finished_at")}, ${at("s.last_run_at")},
  s.parent_session_id, s.forked_from_sequence, s.subagent_of_session_id, s.subagent_of_tool_use_id, h.run_count,
  h.total_turns, ${COUNTERS.map((name) => `h.${name}`).join(", ")}, h.last_known_input_tokens, h.last_known_output_tokens,
  h.reserved_micros, ${at("h.reserved_until")}, s.opened_by, s.has_unknown_effect`;

export function sessionOf(row: TextRow): Session {
  const c = columns(row);
  return {
    id: c.text(),
    tenant: c.text(),
    agent_id: c.text(),
    agent_version: c.number(),
    title: c.textOrNull(),
    tags: c.json() as string[],
    model: c.text(),
    model_id: c.textOrNull(),
    working_directory: c.textOrNull(),
    metadata: c.json() as JsonObject,
    status: c.text() as Session["status"],
    outcome: c.textOrNull() as Session["outcome"],
    run_id: c.textOrNull(),
    current_step: c.number(),
    container_id: c.textOrNull(),
    created_at: c.instant(),
    updated_at: c.instant(),
    started_at: c.instantOrNull(),
    finished_at: c.instantOrNull(),
    last_run_at: c.instantOrNull(),
    parent_session_id: c.textOrNull(),
    forked_from_sequence: c.numberOrNull(),
    subagent_of_session_id: c.textOrNull(),
    subagent_of_tool_use_id: c.textOrNull(),
    total_runs: c.number(),
    total_turns: c.number(),
    ...totalsOf(counters(c, COUNTERS)),
    last_known_input_tokens: c.number(),
    last_known_output_tokens: c.number(),
    reserved_micros: c.number(),
    reserved_until: c.instantOrNull(),
    opened_by: c.textOrNull(),
    has_unknown_effect: c.flag(),
  };
}

/** The columns of a message's row. Needs `skein.messages m`. */
export const MESSAGE_COLUMNS = `m.id, m.session_id, m.number, m.role, m.content::text, m.tool_call_id, ${at("m.created_at")}`;

export function messageOf(row: TextRow): MessageRow {
  const c = columns(row);
  return {
    id: c.text(),
    session_id: c.text(),
    sequence: c.number(),
    role: c.text() as MessageRow["role"],
    content: c.json() as JsonObject,
    tool_call_id: c.textOrNull(),
    created_at: c.instant(),
  };
}

/** The columns of a run, including the files that it made. Needs `skein.runs r`. */
export const RUN_COLUMNS = `r.id, r.session_id, r.number, ${at("r.started_at")}, ${at("r.completed_at")}, r.outcome, r.stop_reason,
  r.user_message, r.final_response, r.total_steps, r.first_sequence, r.last_sequence, r.model, r.long_context_applied,
  r.reserved_micros, ${RUN_COUNTERS.map((name) => `r.${name}`).join(", ")},
  (select coalesce(json_agg(f.shown order by f.place), '[]') from skein.files f
    where f.run_id = r.id and f.session_id = r.session_id),
  (select coalesce(json_agg(json_build_object('model', m.model, ${COUNTERS.map((name) => `'${name}', m.${name}`).join(", ")})
      order by m.model collate "C"), '[]')
    from skein.run_models m where m.run_id = r.id and m.session_id = r.session_id)`;

export function runOf(row: TextRow): Run {
  const c = columns(row);
  const run = {
    id: c.text(),
    session_id: c.text(),
    number: c.number(),
    started_at: c.instant(),
    completed_at: c.instantOrNull(),
    outcome: c.textOrNull() as Run["outcome"],
    stop_reason: c.textOrNull() as Run["stop_reason"],
    user_message: c.text(),
    final_response: c.textOrNull(),
    total_steps: c.number(),
    first_sequence: c.number(),
    last_sequence: c.numberOrNull(),
  };
  const model = c.text();
  const longContext = c.flag();
  const reserved_micros = c.number();
  const added = counters(c, RUN_COUNTERS) as RunCounters;
  const cost = costBreakdown(added, model, longContext);
  const generated_files = c.json() as JsonObject[];
  const models = c.json() as readonly (Counters & { readonly model: string })[];
  return { ...run, ...totalsOf(added), cost, reserved_micros, models: models.map(modelTotals), generated_files };
}

export const AWAIT_COLUMNS = "a.opened::text";

export function awaitOf([opened]: TextRow): Await {
  return JSON.parse(opened ?? "null");
}

export const CHECKPOINT_COLUMNS = `c.id, c.session_id, c.user_message_uuid, to_json(c.files_modified), ${at("c.created_at")}`;

export function checkpointOf(row: TextRow): Checkpoint {
  const c = columns(row);
  return {
    id: c.text(),
    session_id: c.text(),
    user_message_uuid: c.text(),
    files_modified: c.json() as string[],
    created_at: c.instant(),
  };
}

function counters(c: Columns, names: readonly string[]): Counters {
  return Object.fromEntries(names.map((name) => [name, c.number()])) as unknown as Counters;
}

function totalsOf(added: Counters) {
  return { ...costTotals(added), usage: usageTotals(added) };
}
