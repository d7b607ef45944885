/** Functions that the views use. The store does not call them. */
export const functions = /* sql */ `
-- A body as jsonb. NUL and lone surrogates, which jsonb refuses, are shown as U+FFFD; the log keeps the exact text.
create or replace function skein.shown(p_data json, p_blob bytea default null) returns jsonb
language plpgsql stable parallel safe as $$
declare
  v_text text := p_data::text;
begin
  if p_blob is not null then
    select b.body into v_text from skein.blobs b where b.hash = p_blob;
  end if;
  if strpos(v_text, '\\u') > 0 then
    v_text := regexp_replace(v_text, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u(?:0000|d[89a-f][0-9a-f]{2})', '\\1\\\\ufffd', 'g');
  end if;
  return v_text::jsonb;
end $$;

-- The exact text of a body.
create or replace function skein.body(p_data json, p_blob bytea) returns json language sql stable parallel safe
return case when p_blob is null then p_data else (select b.body::json from skein.blobs b where b.hash = p_blob) end;

-- The tool results in a range of the transcript's rows, as the blocks of one message.
create or replace function skein.tool_results(p_session uuid, p_first integer, p_rows integer) returns jsonb
language sql stable parallel safe as $$
  select jsonb_agg(
    jsonb_build_object('type', 'tool_result', 'tool_use_id', d->'tool_use_id', 'content', d->'content')
      || case when d->>'is_error' = 'true' then '{"is_error": true}'::jsonb else '{}' end
    order by m.number)
  from skein.messages m
  join skein.events e on e.session_id = m.session_id and e.sequence = m.sequence
  cross join lateral (select skein.shown(e.data, e.blob) as d offset 0) x
  where m.session_id = p_session and m.number >= p_first and m.number < p_first + p_rows
$$;

-- One message of the transcript, in the format of the Messages API. p_entry is the fact that added it to the transcript.
create or replace function skein.message(p_session uuid, p_type text, p_entry jsonb) returns jsonb
language plpgsql stable parallel safe as $$
declare
  v_row record;
begin
  if p_type = 'message.copied' then
    return jsonb_build_object('role', p_entry->'role', 'content', p_entry->'content');
  end if;
  select m.number, e.event_type, e.data, e.blob into v_row
  from skein.messages m join skein.events e on e.session_id = m.session_id and e.sequence = m.sequence
  where m.session_id = p_session and m.id = (p_entry->>'message_id')::uuid;
  return jsonb_build_object('role', p_entry->'role', 'content',
    case
      when v_row.event_type = 'tool.completed'
        then skein.tool_results(p_session, v_row.number, (p_entry->>'rows')::integer)
      else skein.shown(v_row.data, v_row.blob)->'content'
    end);
end $$;

-- The messages that entered the transcript in a range of the log.
create or replace function skein.transcript(p_session uuid, p_after integer, p_until integer) returns jsonb
language sql stable parallel safe as $$
  select coalesce(
    jsonb_agg(skein.message(e.session_id, e.event_type, skein.shown(e.data, e.blob)) order by e.sequence), '[]')
  from skein.events e
  where e.session_id = p_session and e.sequence > p_after and e.sequence <= p_until
    and e.event_type in ('message.created', 'message.copied')
$$;

-- The messages that the model is shown at a position in the log: those that the last compaction left, and those that entered
-- later.
create or replace function skein.context(p_session uuid, p_until integer) returns jsonb
language plpgsql stable parallel safe as $$
declare
  v_sequence integer;
  v_messages jsonb;
begin
  select e.sequence, skein.shown(e.data, e.blob)->'messages' into v_sequence, v_messages
  from skein.events e
  where e.session_id = p_session and e.sequence <= p_until and e.event_type = 'compaction.checked'
    and skein.shown(e.data, e.blob)->>'applied' = 'true'
    and jsonb_typeof(skein.shown(e.data, e.blob)->'messages') = 'array'
  order by e.sequence desc limit 1;
  return coalesce(v_messages, '[]') || skein.transcript(p_session, coalesce(v_sequence, 0), p_until);
end $$;

create or replace function skein.run_messages(p_session uuid, p_run uuid) returns jsonb
language sql stable parallel safe as $$
  select coalesce(
    jsonb_agg(skein.message(e.session_id, e.event_type, skein.shown(e.data, e.blob)) order by e.sequence), '[]')
  from skein.events e
  where e.run_id = p_run and e.session_id = p_session and e.event_type = 'message.created'
$$;

-- An amount in dollars, from its micro-dollars and the pico-dollars that are left over.
create or replace function skein.dollars(p_micros bigint, p_rest bigint) returns numeric language sql immutable parallel safe
return trim_scale((p_micros + p_rest / 1000000.0) / 1000000.0);

-- file_registry of the agent tables: each file once, with the run that made it and the one that last wrote it.
create or replace function skein.file_registry(p_session uuid) returns jsonb language sql stable parallel safe as $$
  select coalesce(jsonb_object_agg(f.file_id, jsonb_build_object(
    'filename', f.shown->'filename', 'storage_path', f.shown->'storage_path', 'size', f.shown->'size',
    'mime_type', f.shown->'mime_type', 'created_in_run', f.first_run, 'last_updated_run', f.run_id,
    'last_updated_at', f.shown->'timestamp')), '{}')
  from (
    select distinct on (file_id) file_id, run_id, skein.shown(shown) as shown,
      first_value(run_id) over (partition by file_id order by place) as first_run
    from skein.files where session_id = p_session order by file_id, place desc) f
$$;

-- Results of backend tools that wait for the rest of their step.
create or replace function skein.pending_results(p_session uuid) returns jsonb language sql stable parallel safe as $$
  select coalesce(jsonb_agg(
    jsonb_build_object('type', 'tool_result', 'tool_use_id', d->'tool_use_id', 'content', d->'content')
      || case when d->>'is_error' = 'true' then '{"is_error": true}'::jsonb else '{}' end
    order by m.part), '[]')
  from skein.messages m
  join skein.events e on e.session_id = m.session_id and e.sequence = m.sequence
  cross join lateral (select skein.shown(e.data, e.blob) as d offset 0) x
  where m.session_id = p_session and m.number is null and m.role = 'tool_result'
$$;

create or replace function skein.pending_frontend_tools(p_session uuid) returns jsonb
language sql stable parallel safe as $$
  select coalesce(jsonb_agg(
    jsonb_build_object('tool_use_id', d->'tool_use_id', 'name', d->'name', 'input', d->'input') order by a.place), '[]')
  from skein.awaits a cross join lateral (select skein.shown(a.opened) as d offset 0) x
  where a.session_id = p_session and a.closed_at is null and a.kind = 'frontend_tool'
$$;
`;
