/** The usage of runs by model. For older runs, it is counted from the log. */
export const runModels = /* sql */ `
-- One row for each model that a run used.
create table skein.run_models (
  session_id uuid not null,
  run_id uuid not null,
  model text not null,
  cost_micros skein.micros not null,
  unpriced_calls integer not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cache_creation_input_tokens bigint not null,
  cache_read_input_tokens bigint not null,
  primary key (session_id, run_id, model)
) with (fillfactor = 80);

insert into skein.run_models
select e.session_id, e.run_id, coalesce(e.body->>'model', ''),
  sum(coalesce((e.body->'cost'->>'total_micros')::bigint, 0)),
  count(*) filter (where json_typeof(e.body->'cost') is distinct from 'object'),
  sum(coalesce((e.body->'usage'->>'input_tokens')::bigint, 0)),
  sum(coalesce((e.body->'usage'->>'output_tokens')::bigint, 0)),
  sum(coalesce((e.body->'usage'->>'cache_creation_input_tokens')::bigint, 0)),
  sum(coalesce((e.body->'usage'->>'cache_read_input_tokens')::bigint, 0))
from (
  select e.session_id, e.run_id, coalesce(b.body::json, e.data) as body
  from skein.events e left join skein.blobs b on b.hash = e.blob
  where e.event_type in ('step.generated', 'step.abandoned', 'subagent.messaged') and e.run_id is not null
) e
where json_typeof(e.body->'usage') = 'object'
group by e.session_id, e.run_id, coalesce(e.body->>'model', '');
`;
