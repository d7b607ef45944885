/**
 * One function per verb of the port: one round trip each.
 *
 * What can go wrong is an answer (a code in the row), not an exception, so that no transaction is poisoned. Every
 * function is volatile: each statement inside sees what was committed before it, which is what makes "lock, then look"
 * right under READ COMMITTED.
 */
export const verbs = /* sql */ `
-- Half a microsecond is added because date_part answers a double, which may fall short of the millisecond by less.
create function skein.milliseconds(at timestamptz) returns bigint language sql immutable
  return floor(date_part('epoch', at) * 1000 + 0.0005)::bigint;

create function skein.instant(milliseconds double precision) returns timestamptz language sql immutable
  return to_timestamp(milliseconds / 1000);

create type skein.appended as (code text, session_id uuid, first_sequence integer, last_sequence integer);

-- Applies the row operations of one append. Numbers in them are relative; the base is what the session had.
create function skein.apply(p_session uuid, p_base integer, p_messages integer, p_runs integer, p_changes jsonb)
returns void language plpgsql as $$
declare
  v_part jsonb;
begin
  v_part := p_changes->'session';
  if v_part is not null then
    insert into skein.sessions (
      id, tenant, agent_id, agent_version, title, tags, model, model_id, working_directory, metadata, status, outcome,
      run_id, current_step, container_id, created_at, started_at, finished_at, last_run_at, parent_session_id,
      forked_from_sequence, subagent_of_session_id, subagent_of_tool_use_id, last_known_input_tokens,
      last_known_output_tokens, changed_at)
    select
      r.id, r.tenant, r.agent_id, r.agent_version, r.title, r.tags, r.model, r.model_id, r.working_directory,
      (p_changes->>'metadata')::json, r.status, r.outcome, r.run_id, r.current_step, r.container_id, r.created_at,
      r.started_at, r.finished_at, r.last_run_at, r.parent_session_id, r.forked_from_sequence,
      r.subagent_of_session_id, r.subagent_of_tool_use_id, r.last_known_input_tokens, r.last_known_output_tokens,
      r.created_at
    from jsonb_populate_record(null::skein.sessions, v_part) r;
  end if;

  v_part := p_changes->'set';
  if v_part is not null then
    -- Each key on its own: populating a record of this width costs more than the rest of the append.
    update skein.sessions s set
      title = case when v_part ? 'title' then v_part->>'title' else s.title end,
      tags = case when v_part ? 'tags' then array(select jsonb_array_elements_text(v_part->'tags')) else s.tags end,
      model_id = case when v_part ? 'model_id' then (v_part->>'model_id')::uuid else s.model_id end,
      metadata = case when p_changes ? 'metadata' then (p_changes->>'metadata')::json else s.metadata end,
      status = coalesce(v_part->>'status', s.status),
      outcome = case when v_part ? 'outcome' then v_part->>'outcome' else s.outcome end,
      run_id = case when v_part ? 'run_id' then (v_part->>'run_id')::uuid else s.run_id end,
      current_step = coalesce((v_part->>'current_step')::integer, s.current_step),
      container_id = coalesce(v_part->>'container_id', s.container_id),
      started_at = coalesce((v_part->>'started_at')::timestamptz, s.started_at),
      finished_at = case when v_part ? 'finished_at' then (v_part->>'finished_at')::timestamptz else s.finished_at end,
      last_run_at = coalesce((v_part->>'last_run_at')::timestamptz, s.last_run_at),
      last_known_input_tokens = coalesce((v_part->>'last_known_input_tokens')::bigint, s.last_known_input_tokens),
      last_known_output_tokens = coalesce((v_part->>'last_known_output_tokens')::bigint, s.last_known_output_tokens),
      total_runs = s.total_runs + coalesce(jsonb_array_length(p_changes->'runs'), 0),
      changed_at = coalesce((v_part->>'changed_at')::timestamptz, s.changed_at)
    where s.id = p_session;
  end if;

  v_part := p_changes->'add';
  if v_part is not null then
    update skein.sessions s set
      total_turns = s.total_turns + coalesce((v_part->>'total_turns')::integer, 0),
      cost_micros = s.cost_micros + coalesce((v_part->>'cost_micros')::bigint, 0),
      unpriced_calls = s.unpriced_calls + coalesce((v_part->>'unpriced_calls')::integer, 0),
      input_tokens = s.input_tokens + coalesce((v_part->>'input_tokens')::bigint, 0),
      output_tokens = s.output_tokens + coalesce((v_part->>'output_tokens')::bigint, 0),
      cache_creation_input_tokens =
        s.cache_creation_input_tokens + coalesce((v_part->>'cache_creation_input_tokens')::bigint, 0),
      cache_read_input_tokens = s.cache_read_input_tokens + coalesce((v_part->>'cache_read_input_tokens')::bigint, 0)
    where s.id = p_session;
  end if;

  v_part := p_changes->'runs';
  if v_part is not null then
    insert into skein.runs (id, session_id, number, started_at, user_message, model, first_sequence)
    select r.id, p_session, p_runs + u.place, r.started_at, r.user_message, r.model, p_base + r.first_sequence
    from jsonb_array_elements(v_part) with ordinality u(run, place),
      jsonb_populate_record(null::skein.runs, u.run) r;
  end if;

  v_part := p_changes->'run_updates';
  if v_part is not null then
    update skein.runs t set (
      completed_at, outcome, stop_reason, final_response, total_steps, model, long_context_applied, last_sequence,
      cost_micros, unpriced_calls, input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens,
      input_micros, output_micros, cache_write_micros, cache_read_micros) = (
      select
        r.completed_at, r.outcome, r.stop_reason, r.final_response, r.total_steps, r.model, r.long_context_applied,
        case when u.set ? 'last_sequence' then p_base + r.last_sequence else t.last_sequence end,
        t.cost_micros + a.cost_micros,
        t.unpriced_calls + a.unpriced_calls,
        t.input_tokens + a.input_tokens,
        t.output_tokens + a.output_tokens,
        t.cache_creation_input_tokens + a.cache_creation_input_tokens,
        t.cache_read_input_tokens + a.cache_read_input_tokens,
        t.input_micros + a.input_micros,
        t.output_micros + a.output_micros,
        t.cache_write_micros + a.cache_write_micros,
        t.cache_read_micros + a.cache_read_micros
      from jsonb_populate_record(t, u.set) r, jsonb_populate_record(null::skein.runs, u.add) a)
    from jsonb_to_recordset(v_part) u(id uuid, set jsonb, add jsonb)
    where t.id = u.id and t.session_id = p_session;
  end if;

  v_part := p_changes->'messages';
  if v_part is not null then
    insert into skein.messages (id, session_id, message_id, part, number, role, content, tool_call_id, run_id, sequence, created_at)
    select m.id, p_session, m.message_id, m.part, p_messages + m.number, m.role, m.content::json, m.tool_call_id,
      m.run_id, p_base + m.sequence, m.created_at
    from jsonb_to_recordset(v_part) m(
      id uuid, message_id uuid, part integer, number integer, role text, content text, tool_call_id text, run_id uuid,
      sequence integer, created_at timestamptz);
  end if;

  v_part := p_changes->'entries';
  if v_part is not null then
    update skein.messages m set number = p_messages + e.first + m.part, run_id = e.run_id
    from jsonb_to_recordset(v_part) e(message_id uuid, run_id uuid, first integer)
    where m.session_id = p_session and m.number is null and m.message_id = e.message_id;
  end if;

  v_part := p_changes->'awaits';
  if v_part is not null then
    insert into skein.awaits (session_id, tool_use_id, kind, opened)
    select p_session, a.tool_use_id, a.kind, a.opened::json
    from jsonb_array_elements(v_part) with ordinality u(await, place),
      jsonb_to_record(u.await) a(tool_use_id text, kind text, opened text)
    order by u.place;
  end if;

  v_part := p_changes->'closes';
  if v_part is not null then
    update skein.awaits a set closed_at = c.closed_at, resolution = c.resolution
    from jsonb_to_recordset(v_part) c(tool_use_id text, closed_at timestamptz, resolution text)
    where a.session_id = p_session and a.place = (
      select o.place from skein.awaits o
      where o.session_id = p_session and o.closed_at is null and o.tool_use_id = c.tool_use_id
      order by o.place limit 1);
  end if;

  v_part := p_changes->'checkpoints';
  if v_part is not null then
    insert into skein.checkpoints (id, session_id, user_message_uuid, files_modified, created_at)
    select c.id, p_session, c.user_message_uuid, c.files_modified, c.created_at
    from jsonb_array_elements(v_part) with ordinality u(point, place),
      jsonb_to_record(u.point) c(id uuid, user_message_uuid text, files_modified text[], created_at timestamptz)
    order by u.place;
  end if;

  v_part := p_changes->'files';
  if v_part is not null then
    insert into skein.files (session_id, run_id, file_id, shown, created_at)
    select p_session, f.run_id, f.file_id, f.shown::json, f.created_at
    from jsonb_array_elements(v_part) with ordinality u(file, place),
      jsonb_to_record(u.file) f(run_id uuid, file_id text, shown text, created_at timestamptz)
    order by u.place;
  end if;
end $$;

-- Answers: written | repeated | key_reused | not_found | lease_lost | conflict | already_exists.
-- p_begins: the first event is session.created. p_tenant is null when the caller did not name one.
create function skein.append(
  p_session uuid, p_tenant text, p_begins boolean, p_at timestamptz, p_version smallint,
  p_ids uuid[], p_types text[], p_runs uuid[], p_bodies text[], p_blobs bytea[], p_blob_bodies text[],
  p_expect integer, p_fence bigint, p_lease_ms double precision,
  p_key_tenant text, p_key text, p_fingerprint text,
  p_due double precision, p_release boolean, p_release_due double precision,
  p_changes jsonb)
returns skein.appended language plpgsql as $$
declare
  v_head skein.heads;
  v_found boolean;
  v_key skein.keys;
  v_count integer := cardinality(p_ids);
  v_first timestamptz := p_at;
  v_due timestamptz := skein.instant(p_due);
  v_sequence integer;
begin
  if p_key is not null then
    -- Two appends with one key may be for two sessions (a creation that is repeated): the key has its own lock.
    perform pg_advisory_xact_lock(hashtextextended(p_key_tenant || chr(1) || p_key, 7301));
    select * into v_key from skein.keys k where k.tenant = p_key_tenant and k.key = p_key;
    if found then
      if v_key.fingerprint <> p_fingerprint then return row('key_reused', p_session, 0, 0)::skein.appended; end if;
      return row('repeated', v_key.session_id, v_key.first_sequence, v_key.last_sequence)::skein.appended;
    end if;
  end if;

  loop
    select * into v_head from skein.heads h where h.session_id = p_session for update;
    v_found := found;
    exit when v_found or not p_begins or p_fence is not null or coalesce(p_expect, 0) <> 0;
    insert into skein.heads (session_id, tenant, last_sequence, fact_version, updated_at)
    values (p_session, p_changes->'session'->>'tenant', 0, p_version, p_at)
    on conflict do nothing;
    exit when found;
    -- Another transaction created it in the meantime: look again.
  end loop;

  if v_found then
    if not p_begins and p_tenant is not null and v_head.tenant <> p_tenant then
      return row('not_found', p_session, 0, 0)::skein.appended;
    end if;
    select e.sequence into v_sequence from skein.events e where e.id = p_ids[1] and e.session_id = p_session;
    if found then
      return row('repeated', p_session, v_sequence, least(v_sequence + v_count - 1, v_head.last_sequence))::skein.appended;
    end if;
    if p_fence is not null and (v_head.fence <> p_fence or v_head.owner is null) then
      return row('lease_lost', p_session, 0, 0)::skein.appended;
    end if;
    if p_begins then return row('conflict', p_session, 0, v_head.last_sequence)::skein.appended; end if;
    if p_expect is not null and p_expect <> v_head.last_sequence then
      return row('conflict', p_session, p_expect, v_head.last_sequence)::skein.appended;
    end if;
    -- The microseconds go on counting where the same millisecond left off.
    if date_trunc('milliseconds', v_head.updated_at) = p_at then
      v_first := v_head.updated_at + interval '1 microsecond';
    end if;
  else
    if not p_begins or p_fence is not null then return row('not_found', p_session, 0, 0)::skein.appended; end if;
    if coalesce(p_expect, 0) <> 0 then return row('conflict', p_session, p_expect, 0)::skein.appended; end if;
    v_head.last_sequence := 0;
    v_head.message_count := 0;
    v_head.run_count := 0;
  end if;

  if p_changes ? 'checkpoints' then
    if exists (
      select from skein.checkpoints c
      where c.session_id = p_session
        and c.user_message_uuid in (select x->>'user_message_uuid' from jsonb_array_elements(p_changes->'checkpoints') x))
    then
      return row('already_exists', p_session, 0, 0)::skein.appended;
    end if;
  end if;

  update skein.heads h set
    last_sequence = h.last_sequence + v_count,
    fact_version = greatest(h.fact_version, p_version),
    message_count = h.message_count + coalesce((p_changes->>'entered')::integer, 0),
    run_count = h.run_count + coalesce(jsonb_array_length(p_changes->'runs'), 0),
    updated_at = least(v_first + (v_count - 1) * interval '1 microsecond', p_at + interval '999 microseconds'),
    fence = case when p_release then h.fence + 1 else h.fence end,
    owner = case when p_release then null else h.owner end,
    leased_until = case
      when p_release then null
      when p_fence is not null then clock_timestamp() + p_lease_ms * interval '1 millisecond'
      else h.leased_until end,
    due_at = case
      when p_release then skein.instant(p_release_due)
      when v_due is null then h.due_at
      when p_fence is not null then v_due
      else least(h.due_at, v_due) end
  where h.session_id = p_session;

  if p_blob_bodies is not null then
    -- A delete looks for blobs that nobody refers to; it must not look while a reference is on its way.
    perform pg_advisory_xact_lock_shared(7302);
    insert into skein.blobs (hash, body)
    select b.hash, b.body from unnest(p_blobs, p_blob_bodies) b(hash, body) where b.hash is not null
    order by b.hash
    on conflict do nothing;
  end if;

  if v_count = 1 then
    insert into skein.events (session_id, sequence, id, v, event_type, run_id, data, blob, created_at)
    values (p_session, v_head.last_sequence + 1, p_ids[1], p_version, p_types[1], p_runs[1], p_bodies[1]::json, p_blobs[1],
      least(v_first, p_at + interval '999 microseconds'));
  else
    insert into skein.events (session_id, sequence, id, v, event_type, run_id, data, blob, created_at)
    select p_session, v_head.last_sequence + e.place, e.id, p_version, e.event_type, e.run_id, e.body::json, p_blobs[e.place],
      least(v_first + (e.place - 1) * interval '1 microsecond', p_at + interval '999 microseconds')
    from unnest(p_ids, p_types, p_runs, p_bodies) with ordinality e(id, event_type, run_id, body, place);
  end if;

  if p_changes is not null then
    perform skein.apply(p_session, v_head.last_sequence, v_head.message_count, v_head.run_count, p_changes);
  end if;

  if p_key is not null then
    insert into skein.keys (tenant, key, fingerprint, session_id, first_sequence, last_sequence)
    values (p_key_tenant, p_key, p_fingerprint, p_session, v_head.last_sequence + 1, v_head.last_sequence + v_count);
  end if;
  return row('written', p_session, v_head.last_sequence + 1, v_head.last_sequence + v_count)::skein.appended;
end $$;

create type skein.claimed as (
  code text, session_id uuid, fence bigint, last_sequence integer, at_ms bigint);

-- Answers: leased | busy (until at_ms) | none (next at at_ms) | not_found | unreadable.
create function skein.claim(p_session uuid, p_owner text, p_lease_ms double precision, p_version smallint)
returns skein.claimed language plpgsql as $$
declare
  v_head skein.heads;
  v_now timestamptz;
  v_next timestamptz;
begin
  if p_session is not null then
    select * into v_head from skein.heads h where h.session_id = p_session for update;
    if not found then return row('not_found', p_session, null, null, null)::skein.claimed; end if;
    v_now := clock_timestamp();
    if v_head.leased_until > v_now then
      return row('busy', p_session, null, null, ceil(extract(epoch from v_head.leased_until) * 1000))::skein.claimed;
    end if;
    if v_head.fact_version > p_version then return row('unreadable', p_session, null, null, null)::skein.claimed; end if;
  else
    v_now := clock_timestamp();
    select * into v_head from skein.heads h
    where h.due_at <= v_now and (h.leased_until is null or h.leased_until <= v_now) and h.fact_version <= p_version
    order by h.due_at limit 1
    for update skip locked;
    if not found then
      select min(greatest(h.due_at, h.leased_until)) into v_next
      from skein.heads h where h.due_at is not null and h.fact_version <= p_version;
      return row('none', null, null, null, ceil(extract(epoch from v_next) * 1000))::skein.claimed;
    end if;
  end if;
  update skein.heads h set
    fence = h.fence + 1, owner = p_owner, leased_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
  where h.session_id = v_head.session_id
  returning h.fence into v_head.fence;
  return row('leased', v_head.session_id, v_head.fence, v_head.last_sequence, null)::skein.claimed;
end $$;

-- Prolongs leases and answers those that were still held. Locks in one order, so that two never deadlock.
create function skein.renew(p_sessions uuid[], p_fences bigint[], p_lease_ms double precision[])
returns table (session_id uuid, fence bigint) language sql as $$
  with held as (
    select h.session_id, l.lease_ms
    from skein.heads h join unnest(p_sessions, p_fences, p_lease_ms) l(session_id, fence, lease_ms)
      on l.session_id = h.session_id and l.fence = h.fence
    where h.owner is not null
    order by h.session_id for update of h)
  update skein.heads h set leased_until = clock_timestamp() + held.lease_ms * interval '1 millisecond'
  from held where h.session_id = held.session_id
  returning h.session_id, h.fence
$$;

-- Answers: released | not_found | lease_lost.
create function skein.release(p_session uuid, p_fence bigint, p_seen integer, p_due double precision)
returns text language plpgsql as $$
declare
  v_head skein.heads;
begin
  select * into v_head from skein.heads h where h.session_id = p_session for update;
  if not found then return 'not_found'; end if;
  if v_head.fence <> p_fence or v_head.owner is null then return 'lease_lost'; end if;
  update skein.heads h set
    fence = h.fence + 1, owner = null, leased_until = null,
    due_at = case
      when h.last_sequence > p_seen then least(h.due_at, clock_timestamp())
      else skein.instant(p_due) end
  where h.session_id = p_session;
  return 'released';
end $$;

create function skein.free(p_owner text) returns void language sql as $$
  with held as (select h.session_id from skein.heads h where h.owner = p_owner order by h.session_id for update)
  update skein.heads h set fence = h.fence + 1, owner = null, leased_until = null
  from held where h.session_id = held.session_id and h.owner = p_owner
$$;

-- Whether there was such a session. Everything that hangs on its head goes with it, and the blobs that only it used.
create function skein.delete_session(p_session uuid, p_tenant text) returns boolean language plpgsql as $$
declare
  v_blobs bytea[];
begin
  perform from skein.heads h
  where h.session_id = p_session and (p_tenant is null or h.tenant = p_tenant) for update;
  if not found then return false; end if;
  select array_agg(distinct e.blob) into v_blobs
  from skein.events e where e.session_id = p_session and e.blob is not null;
  delete from skein.events e where e.session_id = p_session;
  delete from skein.heads h where h.session_id = p_session;
  if v_blobs is not null then
    perform pg_advisory_xact_lock(7302);
    delete from skein.blobs b
    where b.hash = any(v_blobs) and not exists (select from skein.events e where e.blob = b.hash);
  end if;
  return true;
end $$;

create type skein.record_answer as (code text, place integer, actual integer);

-- Puts all or none. Answers: one row 'conflict' with the version that is there, or a row 'put' with the version per put.
create function skein.put_records(p_at timestamptz, p_puts jsonb) returns setof skein.record_answer language plpgsql as $$
declare
  v_put record;
  v_version integer;
begin
  perform pg_advisory_xact_lock(lock)
  from (
    select distinct hashtextextended(p->>'tenant' || chr(1) || (p->>'kind') || chr(1) || (p->>'id'), 7303) as lock
    from jsonb_array_elements(p_puts) p order by 1) locks;
  for v_put in
    select u.place, p.* from jsonb_array_elements(p_puts) with ordinality u(put, place),
      jsonb_to_record(u.put) p(tenant text, kind text, id text, expect integer)
  loop
    select r.version into v_version from skein.records r
    where r.tenant = v_put.tenant and r.kind = v_put.kind and r.id = v_put.id;
    if v_put.expect is not null and v_put.expect <> coalesce(v_version, 0) then
      return next row('conflict', v_put.place, coalesce(v_version, 0))::skein.record_answer;
      return;
    end if;
  end loop;
  for v_put in
    select u.place, p.* from jsonb_array_elements(p_puts) with ordinality u(put, place),
      jsonb_to_record(u.put) p(tenant text, kind text, id text, value text, fields text, listed jsonb)
  loop
    insert into skein.records as r (tenant, kind, id, version, value, fields, created_at, updated_at)
    values (v_put.tenant, v_put.kind, v_put.id, 1, v_put.value::json, v_put.fields::json, p_at, p_at)
    on conflict (tenant, kind, id) do update
      set version = r.version + 1, value = excluded.value, fields = excluded.fields, updated_at = excluded.updated_at
    returning r.version into v_version;
    delete from skein.record_fields f where f.tenant = v_put.tenant and f.kind = v_put.kind and f.id = v_put.id;
    insert into skein.record_fields (tenant, kind, name, value, id)
    select v_put.tenant, v_put.kind, l->>0, l->>1, v_put.id from jsonb_array_elements(v_put.listed) l
    on conflict do nothing;
    return next row('put', v_put.place, v_version)::skein.record_answer;
  end loop;
end $$;
`;
