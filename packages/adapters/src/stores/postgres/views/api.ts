/** The tables of the Claude API. */
export const api = /* sql */ `
create schema if not exists api;

-- An earlier version showed only 50 characters of a model's name. The type of a view's column cannot be changed, so the view is
-- dropped.
do $$ begin
  if exists (select from information_schema.columns where table_schema = 'api' and table_name = 'sessions'
      and column_name = 'model' and character_maximum_length = 50) then
    drop view api.sessions;
  end if;
end $$;

create or replace view api.sessions as
select
  s.id,
  s.created_at,
  h.updated_at,
  (case s.platform_status when 'completed' then 'completed' when 'failed' then 'error' else 'active' end)::varchar(20) as status,
  s.model::varchar(100) as model,
  s.working_directory::varchar(500) as working_directory,
  h.total_turns::integer as total_turns,
  skein.dollars(h.cost_micros, h.cost_rest)::numeric(10, 6) as total_cost_usd,
  s.parent_session_id,
  skein.shown(s.metadata) as metadata
from skein.sessions s join skein.heads h on h.session_id = s.id;

alter view api.sessions alter id set default gen_random_uuid();
alter view api.sessions alter created_at set default now();
alter view api.sessions alter updated_at set default now();
alter view api.sessions alter status set default 'active';
alter view api.sessions alter total_turns set default 0;

create or replace view api.checkpoints as
select c.id, c.session_id, c.user_message_uuid::varchar(100) as user_message_uuid, c.created_at,
  c.files_modified::varchar[] as files_modified
from skein.checkpoints c;

alter view api.checkpoints alter id set default gen_random_uuid();
alter view api.checkpoints alter created_at set default now();
`;
