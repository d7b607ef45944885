/** An index for lists in the order of last use. Its column changes once per run. */
export const lastUsed = /* sql */ `
-- The session of a tenant that ran last; one that never ran counts by when it began.
create index sessions_last_used on skein.sessions (tenant, coalesce(last_run_at, created_at) desc, id desc);
`;
