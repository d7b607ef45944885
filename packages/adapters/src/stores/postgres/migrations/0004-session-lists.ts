/**
 * A table that finds sessions by their metadata. A trigger maintains it, so that appends to sessions without metadata
 * cost nothing. Characters that no column can store (NUL, lone surrogates) are replaced.
 */
export const sessionLists = `
create table skein.session_metadata (
  tenant text not null,
  key text not null,
  value text not null,
  created_at timestamptz not null,
  session_id uuid not null references skein.sessions on delete cascade,
  primary key (tenant, key, value, created_at, session_id)
);
create index session_metadata_session on skein.session_metadata (session_id);

create function skein.metadata_pairs(p_metadata json) returns table (key text, value text)
language plpgsql immutable as $$
declare
  v_text text := p_metadata::text;
begin
  if v_text ~ '\\\\u(0000|d[89a-f])' then
    v_text := regexp_replace(v_text, '\\\\u(0000|d[89a-f][0-9a-f]{2})', '\\\\ufffd', 'g');
  end if;
  return query
  select m.key, m.value
  from (
    select e.key, case json_typeof(e.value) when 'string' then e.value #>> '{}' else e.value::text end as value
    from json_each(v_text::json) e where json_typeof(e.value) not in ('object', 'array')
  ) m
  where length(m.key) <= 64 and length(m.value) <= 255;
exception when untranslatable_character or invalid_text_representation then
  return;
end
$$;

create function skein.keep_metadata() returns trigger language plpgsql as $$
begin
  delete from skein.session_metadata m where m.session_id = new.id;
  insert into skein.session_metadata (tenant, key, value, created_at, session_id)
  select new.tenant, p.key, p.value, new.created_at, new.id from skein.metadata_pairs(new.metadata) p
  on conflict do nothing;
  return null;
end
$$;
create trigger session_metadata_begun after insert on skein.sessions
  for each row when (new.metadata::text <> '{}') execute function skein.keep_metadata();
create trigger session_metadata_changed after update of metadata on skein.sessions
  for each row when (new.metadata::text <> old.metadata::text) execute function skein.keep_metadata();

insert into skein.session_metadata (tenant, key, value, created_at, session_id)
select s.tenant, p.key, p.value, s.created_at, s.id from skein.sessions s, skein.metadata_pairs(s.metadata) p
on conflict do nothing;

-- Finds the session of a folder that ran last. A condition "is null" instead of coalesce would not keep the order of the index.
create index sessions_used on skein.sessions
  (tenant, agent_id, (coalesce(working_directory::text, '')), (coalesce(last_run_at, created_at)), id);
`;
