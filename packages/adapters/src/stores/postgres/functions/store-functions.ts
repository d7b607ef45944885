/**
 * The functions for the store's operations except `append`. Each operation takes one round trip, and the rules of
 * `append` apply.
 */
export const storeFunctions = /* sql */ `
-- Returns words: leased (session, fence, last sequence) | busy (until, in ms) | none (when the next session is due, in ms, or 0) |
-- not_found | unreadable.
create or replace function skein.claim(
  p_session uuid, p_owner text, p_lease_ms double precision, p_version smallint, p_take_within_ms double precision)
returns text language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_session uuid := p_session;
  v_fence bigint;
  v_last integer;
  v_version smallint;
  v_until timestamptz;
begin
  if p_session is null then
    v_until := clock_timestamp();
    select h.session_id into v_session from skein.heads h
    where h.due_at <= v_until and (h.leased_until is null or h.leased_until <= v_until) and h.fact_version <= p_version
    order by h.due_at limit 1
    for update skip locked;
    if not found then
      select min(greatest(h.due_at, h.leased_until)) into v_until
      from skein.heads h where h.due_at is not null and h.fact_version <= p_version;
      return format('none %s', coalesce(ceil(extract(epoch from v_until) * 1000), 0));
    end if;
  end if;
  loop
    update skein.heads h set
      fence = h.fence + 1, owner = p_owner, leased_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    where h.session_id = v_session and h.fact_version <= p_version
      and (h.leased_until is null or h.leased_until <= clock_timestamp() + p_take_within_ms * interval '1 millisecond')
    returning h.fence, h.last_sequence into v_fence, v_last;
    if found then return format('leased %s %s %s', v_session, v_fence, v_last); end if;
    select h.fact_version, h.leased_until into v_version, v_until from skein.heads h where h.session_id = v_session;
    if not found then return 'not_found'; end if;
    if v_until > clock_timestamp() + p_take_within_ms * interval '1 millisecond' then
      return format('busy %s', ceil(extract(epoch from v_until) * 1000));
    end if;
    if v_version > p_version then return 'unreadable'; end if;
    -- The lease that prevented this claim is gone by now, so the claim is tried again.
  end loop;
end $$;

-- The signature that servers of an earlier version call. Such servers may still run on this database.
create or replace function skein.claim(p_session uuid, p_owner text, p_lease_ms double precision, p_version smallint)
returns text language sql as $$ select skein.claim(p_session, p_owner, p_lease_ms, p_version, 0) $$;

-- Renews leases and returns those that were still held. Sessions are locked in the order of their ids, so that two calls never
-- deadlock.
create or replace function skein.renew(p_sessions uuid[], p_fences bigint[], p_lease_ms double precision[])
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

-- Returns: released | not_found | lease_lost.
create or replace function skein.release(p_session uuid, p_fence bigint, p_seen integer, p_due double precision)
returns text language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  update skein.heads h set
    fence = h.fence + 1, owner = null, leased_until = null,
    due_at = case
      when h.last_sequence > p_seen then least(h.due_at, clock_timestamp())
      else skein.instant(p_due) end
  where h.session_id = p_session and h.fence = p_fence and h.owner is not null;
  if found then return 'released'; end if;
  return case when exists (select from skein.heads h where h.session_id = p_session) then 'lease_lost' else 'not_found' end;
end $$;

-- Frees all leases of an owner, or only those that expire within a time.
create or replace function skein.free(p_owner text, p_within_ms double precision) returns void language sql as $$
  with held as (
    select h.session_id from skein.heads h
    where h.owner = p_owner
      and (p_within_ms is null or h.leased_until <= clock_timestamp() + p_within_ms * interval '1 millisecond')
    order by h.session_id for update)
  update skein.heads h set fence = h.fence + 1, owner = null, leased_until = null
  from held where h.session_id = held.session_id and h.owner = p_owner
$$;

-- The signature that servers of an earlier version call.
create or replace function skein.free(p_owner text) returns void language sql as $$ select skein.free(p_owner, null) $$;

-- Deletes a session: every row that belongs to it, and the blobs that only this session used. Returns whether it existed.
create or replace function skein.delete_session(p_session uuid, p_tenant text) returns boolean language plpgsql as $$
declare
  v_blobs bytea[];
begin
  perform from skein.heads h
  where h.session_id = p_session and (p_tenant is null or h.tenant = p_tenant) for update;
  if not found then return false; end if;
  select array_agg(distinct e.blob) into v_blobs
  from skein.events e where e.session_id = p_session and e.blob is not null;
  -- Runs are deleted before the other rows, because the trigger on runs reads these rows to correct the sums.
  delete from skein.runs r where r.session_id = p_session;
  -- The table from which events are moved comes first: events that are moved in the meantime are then found in log_events.
  if to_regclass('skein.events_single') is not null then
    execute 'delete from skein.events_single e where e.session_id = $1' using p_session;
  end if;
  delete from skein.log_events e where e.session_id = p_session;
  delete from skein.messages m where m.session_id = p_session;
  delete from skein.run_models m where m.session_id = p_session;
  delete from skein.sessions s where s.id = p_session;
  delete from skein.heads h where h.session_id = p_session;
  if v_blobs is not null then
    perform pg_advisory_xact_lock(7302);
    delete from skein.blobs b
    where b.hash = any(v_blobs) and not exists (select from skein.events e where e.blob = b.hash);
  end if;
  return true;
end $$;

do $$ begin
  create type skein.record_answer as (code text, place integer, actual integer);
exception when duplicate_object then null; end $$;

-- Stores all records or none. Returns one row 'conflict' with the stored version, or for each record a row 'put' with its new
-- version.
create or replace function skein.put_records(p_at timestamptz, p_puts jsonb) returns setof skein.record_answer language plpgsql as $$
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
