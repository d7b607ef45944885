/** Columns for the API key that opened a session, and for tool calls with an unknown effect. */
export const keysAndEffects = /* sql */ `
alter table skein.sessions add column opened_by text;
alter table skein.sessions add column has_unknown_effect boolean not null default false;
`;

/**
 * This update is a separate migration, because it reads every log, and the table of sessions must not be locked during
 * that time.
 */
export const firstUnknownEffects = /* sql */ `
update skein.sessions s set has_unknown_effect = true where s.id in (
  select e.session_id from skein.events e
  where e.event_type = 'tool.completed' and e.data ->> 'outcome' = 'unknown');
`;

/** An index of the few sessions with an unknown effect. An unfinished index is created again. */
export const unknownEffectsByTime = /* sql */ `
drop index if exists skein.sessions_unknown_effect;
create index concurrently sessions_unknown_effect on skein.sessions (tenant, created_at desc, id desc)
where has_unknown_effect;
`;
