/** An index for lists in the order of last use. Its column changes once per run. */
export const lastUsed = /* sql */ `
-- Finds the session of a tenant that ran last. A session that never ran is sorted by its creation.
create index sessions_last_used on skein.sessions (tenant, coalesce(last_run_at, created_at) desc, id desc);
`;
