/** Updates the projections (rows that are derived from the events), in the transaction of the append. */
export const applyChanges = /* sql */ `
-- Applies the row operations of one append. Their numbers are relative to the numbers that the session had before the append.
-- Rows are read from JSON key by key: converting JSON into records of whole rows costs more than writing the rows.
create or replace function skein.apply(p_session uuid, p_base integer, p_messages integer, p_runs integer, p_changes jsonb)
returns void language plpgsql as $$
declare
  v_part jsonb;
  v_row jsonb;
  v_add jsonb;
begin
  v_part := p_changes->'session';
  if v_part is not null then
    insert into skein.sessions (
      id, tenant, agent_id, agent_version, title, tags, model, model_id, working_directory, metadata, status, outcome,
      run_id, created_at, started_at, finished_at, last_run_at, parent_session_id, forked_from_sequence,
      subagent_of_session_id, subagent_of_tool_use_id, opened_by, has_unknown_effect, changed_at)
    values (
      p_session, v_part->>'tenant', (v_part->>'agent_id')::uuid, (v_part->>'agent_version')::integer, v_part->>'title',
      array(select jsonb_array_elements_text(v_part->'tags')), v_part->>'model', (v_part->>'model_id')::uuid,
      v_part->>'working_directory', (p_changes->>'metadata')::json, v_part->>'status', v_part->>'outcome',
      (v_part->>'run_id')::uuid, (v_part->>'created_at')::timestamptz, (v_part->>'started_at')::timestamptz,
      (v_part->>'finished_at')::timestamptz, (v_part->>'last_run_at')::timestamptz,
      (v_part->>'parent_session_id')::uuid, (v_part->>'forked_from_sequence')::integer,
      (v_part->>'subagent_of_session_id')::uuid, v_part->>'subagent_of_tool_use_id',
      v_part->>'opened_by', coalesce((v_part->>'has_unknown_effect')::boolean, false), (v_part->>'updated_at')::timestamptz);
  end if;

  if p_changes ? 'status' then
    -- Most steps set the status that the session already has, and then nothing is written.
    update skein.sessions s set status = p_changes->>'status', changed_at = (p_changes->>'changed_at')::timestamptz
    where s.id = p_session and s.status <> p_changes->>'status';
  end if;

  v_part := p_changes->'set';
  if v_part is not null then
    update skein.sessions s set
      title = case when v_part ? 'title' then v_part->>'title' else s.title end,
      tags = case when v_part ? 'tags' then array(select jsonb_array_elements_text(v_part->'tags')) else s.tags end,
      model = coalesce(v_part->>'model', s.model),
      model_id = case when v_part ? 'model_id' then (v_part->>'model_id')::uuid else s.model_id end,
      status = coalesce(v_part->>'status', s.status),
      outcome = case when v_part ? 'outcome' then v_part->>'outcome' else s.outcome end,
      run_id = case when v_part ? 'run_id' then (v_part->>'run_id')::uuid else s.run_id end,
      started_at = coalesce((v_part->>'started_at')::timestamptz, s.started_at),
      finished_at = case when v_part ? 'finished_at' then (v_part->>'finished_at')::timestamptz else s.finished_at end,
      last_run_at = coalesce((v_part->>'last_run_at')::timestamptz, s.last_run_at),
      has_unknown_effect = coalesce((v_part->>'has_unknown_effect')::boolean, s.has_unknown_effect),
      changed_at = (p_changes->>'changed_at')::timestamptz
    where s.id = p_session;
    -- Metadata rarely changes. It has a separate update, because a trigger on this column writes skein.session_metadata.
    if p_changes ? 'metadata' then
      update skein.sessions s set metadata = (p_changes->>'metadata')::json where s.id = p_session;
    end if;
  end if;

  v_part := p_changes->'tags';
  if v_part is not null then
    delete from skein.session_tags t where t.session_id = p_session;
    insert into skein.session_tags (tenant, tag, created_at, session_id, agent_id)
    select s.tenant, t.tag, s.created_at, s.id, s.agent_id
    from skein.sessions s, jsonb_array_elements_text(v_part) t(tag) where s.id = p_session
    on conflict do nothing;
  end if;

  v_part := coalesce(p_changes->'runs', '[]');
  for i in 0 .. jsonb_array_length(v_part) - 1 loop
    v_row := v_part->i;
    insert into skein.runs (id, session_id, number, started_at, user_message, model, first_sequence)
    values ((v_row->>'id')::uuid, p_session, p_runs + i + 1, (v_row->>'started_at')::timestamptz, v_row->>'user_message',
      v_row->>'model', p_base + (v_row->>'first_sequence')::integer);
  end loop;

  v_part := coalesce(p_changes->'run_updates', '[]');
  for i in 0 .. jsonb_array_length(v_part) - 1 loop
    v_row := v_part->i->'set';
    v_add := v_part->i->'add';
    update skein.runs r set
      completed_at = coalesce((v_row->>'completed_at')::timestamptz, r.completed_at),
      outcome = coalesce(v_row->>'outcome', r.outcome),
      stop_reason = coalesce(v_row->>'stop_reason', r.stop_reason),
      final_response = coalesce(v_row->>'final_response', r.final_response),
      last_sequence = coalesce(p_base + (v_row->>'last_sequence')::integer, r.last_sequence),
      total_steps = coalesce((v_row->>'total_steps')::integer, r.total_steps),
      model = coalesce(v_row->>'model', r.model),
      long_context_applied = coalesce((v_row->>'long_context_applied')::boolean, r.long_context_applied),
      cost_micros = r.cost_micros + (v_add->>0)::bigint,
      unpriced_calls = r.unpriced_calls + (v_add->>1)::integer,
      input_tokens = r.input_tokens + (v_add->>2)::bigint,
      output_tokens = r.output_tokens + (v_add->>3)::bigint,
      cache_creation_input_tokens = r.cache_creation_input_tokens + (v_add->>4)::bigint,
      cache_read_input_tokens = r.cache_read_input_tokens + (v_add->>5)::bigint,
      cost_rest = r.cost_rest + (v_add->>6)::bigint,
      estimated_calls = r.estimated_calls + (v_add->>7)::integer,
      simulated_calls = r.simulated_calls + (v_add->>8)::integer,
      input_micros = r.input_micros + (v_add->>9)::bigint,
      output_micros = r.output_micros + (v_add->>10)::bigint,
      cache_write_micros = r.cache_write_micros + (v_add->>11)::bigint,
      cache_read_micros = r.cache_read_micros + (v_add->>12)::bigint,
      input_rest = r.input_rest + (v_add->>13)::bigint,
      output_rest = r.output_rest + (v_add->>14)::bigint,
      cache_write_rest = r.cache_write_rest + (v_add->>15)::bigint,
      cache_read_rest = r.cache_read_rest + (v_add->>16)::bigint,
      reserved_micros = coalesce((v_row->>'reserved_micros')::bigint, r.reserved_micros)
    where r.id = (v_part->i->>'id')::uuid and r.session_id = p_session;
    for j in 0 .. jsonb_array_length(v_part->i->'models') - 1 loop
      v_row := v_part->i->'models'->j;
      insert into skein.run_models as m (
        session_id, run_id, model, cost_micros, unpriced_calls, input_tokens, output_tokens,
        cache_creation_input_tokens, cache_read_input_tokens, cost_rest, estimated_calls, simulated_calls)
      values (p_session, (v_part->i->>'id')::uuid, v_row->>0, (v_row->>1)::bigint, (v_row->>2)::integer,
        (v_row->>3)::bigint, (v_row->>4)::bigint, (v_row->>5)::bigint, (v_row->>6)::bigint, (v_row->>7)::bigint,
        (v_row->>8)::integer, (v_row->>9)::integer)
      on conflict (session_id, run_id, model) do update set
        cost_micros = m.cost_micros + excluded.cost_micros,
        unpriced_calls = m.unpriced_calls + excluded.unpriced_calls,
        input_tokens = m.input_tokens + excluded.input_tokens,
        output_tokens = m.output_tokens + excluded.output_tokens,
        cache_creation_input_tokens = m.cache_creation_input_tokens + excluded.cache_creation_input_tokens,
        cache_read_input_tokens = m.cache_read_input_tokens + excluded.cache_read_input_tokens,
        cost_rest = m.cost_rest + excluded.cost_rest,
        estimated_calls = m.estimated_calls + excluded.estimated_calls,
        simulated_calls = m.simulated_calls + excluded.simulated_calls;
    end loop;
  end loop;

  -- Most appends have none of the remaining changes.
  if not p_changes ?| array['entries', 'awaits', 'closes', 'checkpoints', 'files'] then return; end if;

  v_part := coalesce(p_changes->'entries', '[]');
  for i in 0 .. jsonb_array_length(v_part) - 1 loop
    v_row := v_part->i;
    update skein.messages m set
      number = p_messages + (v_row->>'first')::integer + m.part, run_id = (v_row->>'run_id')::uuid
    where m.session_id = p_session and m.number is null and m.message_id = (v_row->>'message_id')::uuid;
  end loop;

  v_part := coalesce(p_changes->'awaits', '[]');
  for i in 0 .. jsonb_array_length(v_part) - 1 loop
    v_row := v_part->i;
    insert into skein.awaits (session_id, tool_use_id, kind, opened)
    values (p_session, v_row->>'tool_use_id', v_row->>'kind', (v_row->>'opened')::json);
  end loop;

  v_part := coalesce(p_changes->'closes', '[]');
  for i in 0 .. jsonb_array_length(v_part) - 1 loop
    v_row := v_part->i;
    update skein.awaits a set closed_at = (v_row->>'closed_at')::timestamptz, resolution = v_row->>'resolution'
    where a.session_id = p_session and a.place = (
      select o.place from skein.awaits o
      where o.session_id = p_session and o.closed_at is null and o.tool_use_id = v_row->>'tool_use_id'
      order by o.place limit 1);
  end loop;

  v_part := coalesce(p_changes->'checkpoints', '[]');
  for i in 0 .. jsonb_array_length(v_part) - 1 loop
    v_row := v_part->i;
    insert into skein.checkpoints (id, session_id, user_message_uuid, files_modified, created_at)
    values ((v_row->>'id')::uuid, p_session, v_row->>'user_message_uuid',
      array(select jsonb_array_elements_text(v_row->'files_modified')), (v_row->>'created_at')::timestamptz);
  end loop;

  v_part := coalesce(p_changes->'files', '[]');
  for i in 0 .. jsonb_array_length(v_part) - 1 loop
    v_row := v_part->i;
    insert into skein.files (session_id, run_id, file_id, shown, created_at)
    values (p_session, (v_row->>'run_id')::uuid, v_row->>'file_id', (v_row->>'shown')::json,
      (v_row->>'created_at')::timestamptz);
  end loop;
end $$;
`;
