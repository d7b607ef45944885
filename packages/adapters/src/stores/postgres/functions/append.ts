/**
 * The function that appends to a session, in one round trip.
 *
 * Expected failures are answers, not exceptions, so that they do not abort the transaction. Every function is volatile,
 * so each of its statements sees what was committed before the statement. This makes "lock, then read" correct under
 * READ COMMITTED.
 *
 * The UPDATE of the head takes the lock and checks every condition (fence, expected end, tenant). Plans are made once
 * (force_generic_plan), because planning at each call took a fifth of an append's time. enable_seqscan is off, because
 * a plan may be made while the tables are empty.
 */
export const append = /* sql */ `
-- Half a microsecond is added because date_part returns a double, which may be slightly below the exact millisecond.
create or replace function skein.milliseconds(at timestamptz) returns bigint language sql immutable
  return floor(date_part('epoch', at) * 1000 + 0.0005)::bigint;

create or replace function skein.instant(milliseconds double precision) returns timestamptz language sql immutable
  return to_timestamp(milliseconds / 1000);

-- Why an append found no head that it could update: repeated | not_found | lease_lost | conflict. Null if a retry would find one.
create or replace function skein.refusal(
  p_session uuid, p_tenant text, p_begins boolean, p_id uuid, p_count integer, p_expect integer, p_fence bigint)
returns text language plpgsql as $$
declare
  v_tenant text;
  v_last integer;
  v_fence bigint;
  v_owner text;
  v_sequence integer;
begin
  select h.tenant, h.last_sequence, h.fence, h.owner into v_tenant, v_last, v_fence, v_owner
  from skein.heads h where h.session_id = p_session;
  if not found then
    if not p_begins or p_fence is not null then return 'not_found'; end if;
    return case when p_expect <> 0 then format('conflict %s %s 0', p_session, p_expect) end;
  end if;
  if not p_begins and p_tenant <> v_tenant then return 'not_found'; end if;
  select e.sequence into v_sequence from skein.events e where e.id = p_id and e.session_id = p_session;
  if found then
    return format('repeated %s %s %s', p_session, v_sequence, least(v_sequence + p_count - 1, v_last));
  end if;
  if p_fence <> v_fence or (p_fence is not null and v_owner is null) then return 'lease_lost'; end if;
  if p_begins then return format('conflict %s 0 %s', p_session, v_last); end if;
  return case when p_expect <> v_last then format('conflict %s %s %s', p_session, p_expect, v_last) end;
end $$;

-- Returns words: written | repeated | conflict, each followed by a session and two sequences, or
-- key_reused | not_found | lease_lost | taken | already_exists. The last word of "written" is the fence of the lease.
--
-- p_begins: the first event is session.created. p_owner: who gets the lease, if nobody has it. p_tenant: null if the caller named
-- no tenant. p_entered and p_started: how many messages and runs this append numbers. p_add: the increases of the head's
-- counters, then the reserved amount and the end of the reservation. p_row_…: the columns of the rows of messages. p_changes:
-- the arguments of skein.apply, and "happened": for each event when it happened, or null.
--
-- The plans of this function are made once per connection, perhaps while the tables are empty. They must also suit full tables.
create or replace function skein.append(
  p_session uuid, p_tenant text, p_begins boolean, p_at timestamptz, p_version smallint,
  p_ids uuid[], p_types text[], p_runs uuid[], p_bodies text[], p_blobs bytea[], p_blob_bodies text[],
  p_expect integer, p_fence bigint, p_owner text, p_lease_ms double precision,
  p_key_tenant text, p_key text, p_fingerprint text,
  p_due double precision, p_release boolean, p_release_due double precision,
  p_entered integer, p_started integer, p_step integer, p_container text, p_known_input bigint, p_known_output bigint,
  p_add bigint[], p_row_ids uuid[], p_row_messages uuid[], p_row_parts integer[], p_row_numbers integer[],
  p_row_roles text[], p_row_contents text[], p_row_calls text[], p_row_runs uuid[], p_row_sequences integer[],
  p_changes jsonb)
returns text language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_count integer := cardinality(p_ids);
  v_last integer := v_count;
  v_messages integer := p_entered;
  v_runs integer := p_started;
  v_first timestamptz := p_at;
  v_updated timestamptz := p_at + (v_count - 1) * interval '1 microsecond';
  v_limit timestamptz := p_at + interval '999 microseconds';
  v_due timestamptz := skein.instant(p_due);
  v_fence bigint := case when p_owner is null then 0 else 1 end;
  v_key skein.keys;
  v_refusal text;
  v_happened jsonb := p_changes->'happened';
begin
  if p_key is not null then
    -- Two appends with the same key may name different sessions (a repeated creation), so the key has its own lock.
    perform pg_advisory_xact_lock(hashtextextended(p_key_tenant || chr(1) || p_key, 7301));
    select * into v_key from skein.keys k where k.tenant = p_key_tenant and k.key = p_key;
    if found then
      if v_key.fingerprint <> p_fingerprint then return 'key_reused'; end if;
      return format('repeated %s %s %s', v_key.session_id, v_key.first_sequence, v_key.last_sequence);
    end if;
  end if;

  if p_changes ? 'checkpoints' then
    if exists (
      select from skein.checkpoints c
      where c.session_id = p_session
        and c.user_message_uuid in (select x->>'user_message_uuid' from jsonb_array_elements(p_changes->'checkpoints') x))
    then
      v_refusal := skein.refusal(p_session, p_tenant, p_begins, p_ids[1], v_count, p_expect, p_fence);
      return coalesce(v_refusal, 'already_exists');
    end if;
  end if;

  loop
    if not p_begins then
      -- A log that ends at p_expect cannot contain these events already. Without p_expect, the first event is looked up. If two
      -- equal appends do this at once, the unique key of events rejects one of them, and its caller tries again.
      if p_expect is null then
        if exists (select from skein.events e where e.id = p_ids[1] and e.session_id = p_session) then
          return skein.refusal(p_session, p_tenant, p_begins, p_ids[1], v_count, p_expect, p_fence);
        end if;
      end if;
      -- This update locks the head: from here on, nobody else writes to this session.
      update skein.heads h set
        last_sequence = h.last_sequence + v_count,
        fact_version = greatest(h.fact_version, p_version),
        message_count = h.message_count + p_entered,
        run_count = h.run_count + p_started,
        -- Within the same millisecond, the microseconds continue from the last event.
        updated_at = least(v_limit, case when date_trunc('milliseconds', h.updated_at) = p_at
          then h.updated_at + v_count * interval '1 microsecond' else v_updated end),
        fence = case when p_release or p_owner is not null then h.fence + 1 else h.fence end,
        owner = case when p_release then null else coalesce(p_owner, h.owner) end,
        leased_until = case
          when p_release then null
          when p_fence is not null or p_owner is not null then clock_timestamp() + p_lease_ms * interval '1 millisecond'
          else h.leased_until end,
        due_at = case
          when p_release then skein.instant(p_release_due)
          when v_due is null then h.due_at
          when p_fence is not null then v_due
          else least(h.due_at, v_due) end,
        current_step = coalesce(p_step, h.current_step),
        container_id = coalesce(p_container, h.container_id),
        last_known_input_tokens = coalesce(p_known_input, h.last_known_input_tokens),
        last_known_output_tokens = coalesce(p_known_output, h.last_known_output_tokens),
        total_turns = h.total_turns + coalesce(p_add[1], 0),
        cost_micros = h.cost_micros + coalesce(p_add[2], 0),
        unpriced_calls = h.unpriced_calls + coalesce(p_add[3], 0),
        input_tokens = h.input_tokens + coalesce(p_add[4], 0),
        output_tokens = h.output_tokens + coalesce(p_add[5], 0),
        cache_creation_input_tokens = h.cache_creation_input_tokens + coalesce(p_add[6], 0),
        cache_read_input_tokens = h.cache_read_input_tokens + coalesce(p_add[7], 0),
        cost_rest = h.cost_rest + coalesce(p_add[8], 0),
        estimated_calls = h.estimated_calls + coalesce(p_add[9], 0),
        simulated_calls = h.simulated_calls + coalesce(p_add[10], 0),
        reserved_micros = coalesce(p_add[11], h.reserved_micros),
        reserved_until = case p_add[12] when 0 then null else coalesce(skein.instant(p_add[12]), h.reserved_until) end
      where h.session_id = p_session
        and (p_expect is null or h.last_sequence = p_expect)
        and (p_fence is null or (h.fence = p_fence and h.owner is not null))
        and (p_tenant is null or h.tenant = p_tenant)
        and (p_owner is null or ((h.leased_until is null or h.leased_until <= clock_timestamp()) and h.fact_version <= p_version))
      returning h.last_sequence, h.message_count, h.run_count, h.updated_at, h.fence
      into v_last, v_messages, v_runs, v_updated, v_fence;
      exit when found;
    elsif p_fence is null and coalesce(p_expect, 0) = 0 then
      insert into skein.heads (
        session_id, tenant, last_sequence, fact_version, message_count, run_count, updated_at, due_at, fence, owner,
        leased_until, current_step,
        container_id, last_known_input_tokens, last_known_output_tokens, total_turns, cost_micros, unpriced_calls,
        input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens, cost_rest, estimated_calls,
        simulated_calls, reserved_micros, reserved_until)
      values (
        p_session, p_changes->'session'->>'tenant', v_count, p_version, p_entered, p_started, least(v_limit, v_updated),
        v_due, v_fence, p_owner,
        case when p_owner is not null then clock_timestamp() + p_lease_ms * interval '1 millisecond' end,
        coalesce(p_step, 0), p_container, coalesce(p_known_input, 0), coalesce(p_known_output, 0),
        coalesce(p_add[1], 0), coalesce(p_add[2], 0), coalesce(p_add[3], 0), coalesce(p_add[4], 0),
        coalesce(p_add[5], 0), coalesce(p_add[6], 0), coalesce(p_add[7], 0), coalesce(p_add[8], 0),
        coalesce(p_add[9], 0), coalesce(p_add[10], 0), coalesce(p_add[11], 0), skein.instant(nullif(p_add[12], 0)))
      on conflict do nothing;
      exit when found;
    end if;
    v_refusal := skein.refusal(p_session, p_tenant, p_begins, p_ids[1], v_count, p_expect, p_fence);
    if v_refusal is not null then return v_refusal; end if;
    if p_owner is not null and not p_begins then return 'taken'; end if;
    -- The row that prevented this append is gone by now, so the append is tried again.
  end loop;

  if v_updated < v_limit then
    v_first := v_updated - (v_count - 1) * interval '1 microsecond';
  elsif v_last > v_count then
    -- There are more events than microseconds in the millisecond: the remaining events share the last microsecond.
    select e.created_at + interval '1 microsecond' into v_first
    from skein.events e where e.session_id = p_session and e.sequence = v_last - v_count and e.created_at > p_at;
    v_first := coalesce(v_first, p_at);
  end if;

  if p_blob_bodies is not null then
    -- A delete removes blobs without references. This lock makes the delete wait until this append has stored its references.
    perform pg_advisory_xact_lock_shared(7302);
    insert into skein.blobs (hash, body)
    select b.hash, b.body from unnest(p_blobs, p_blob_bodies) b(hash, body) where b.hash is not null
    order by b.hash
    on conflict do nothing;
  end if;

  if v_count = 1 then
    insert into skein.log_events (session_id, sequence, id, v, event_type, run_id, data, blob, created_at, happened_at)
    values (p_session, v_last, p_ids[1], p_version, p_types[1], p_runs[1], p_bodies[1]::json, p_blobs[1],
      least(v_first, v_limit), (v_happened->>0)::timestamptz + (least(v_first, v_limit) - p_at));
  else
    -- The microseconds of created_at also keep the order of events that happened within the same millisecond.
    insert into skein.log_events (session_id, sequence, id, v, event_type, run_id, data, blob, created_at, happened_at)
    select p_session, v_last - v_count + i, p_ids[i], p_version, p_types[i], p_runs[i], p_bodies[i]::json, p_blobs[i],
      written_at, (v_happened->>(i - 1))::timestamptz + (written_at - p_at)
    from generate_series(1, v_count) i
    cross join lateral (select least(v_first + (i - 1) * interval '1 microsecond', v_limit) as written_at) w;
  end if;

  for i in 1 .. coalesce(cardinality(p_row_ids), 0) loop
    insert into skein.messages (id, session_id, message_id, part, number, role, content, tool_call_id, run_id, sequence, created_at)
    values (p_row_ids[i], p_session, p_row_messages[i], p_row_parts[i], v_messages - p_entered + p_row_numbers[i],
      p_row_roles[i], p_row_contents[i]::json, p_row_calls[i], p_row_runs[i], v_last - v_count + p_row_sequences[i], p_at);
  end loop;

  if p_changes is not null then
    perform skein.apply(p_session, v_last - v_count, v_messages - p_entered, v_runs - p_started, p_changes);
  end if;

  if p_key is not null then
    insert into skein.keys (tenant, key, fingerprint, session_id, first_sequence, last_sequence)
    values (p_key_tenant, p_key, p_fingerprint, p_session, v_last - v_count + 1, v_last);
  end if;
  return format('written %s %s %s %s', p_session, v_last - v_count + 1, v_last, v_fence);
end $$;
`;
