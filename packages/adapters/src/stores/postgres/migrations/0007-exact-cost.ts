/** Exact costs, and reservations for interrupted model calls. */
export const exactCost = /* sql */ `
-- The exact cost is micros * 1000000 + rest, in pico-dollars. Each column is a separate sum, without a carry.
alter table skein.heads add column cost_rest bigint not null default 0;
alter table skein.heads add column estimated_calls integer not null default 0;
alter table skein.heads add column simulated_calls integer not null default 0;
-- reserved_micros counts against budgets until reserved_until.
alter table skein.heads add column reserved_micros bigint not null default 0;
alter table skein.heads add column reserved_until timestamptz;
alter table skein.runs add column cost_rest bigint not null default 0;
alter table skein.runs add column estimated_calls integer not null default 0;
alter table skein.runs add column simulated_calls integer not null default 0;
alter table skein.runs add column input_rest bigint not null default 0;
alter table skein.runs add column output_rest bigint not null default 0;
alter table skein.runs add column cache_write_rest bigint not null default 0;
alter table skein.runs add column cache_read_rest bigint not null default 0;
alter table skein.runs add column reserved_micros bigint not null default 0;
alter table skein.run_models add column cost_rest bigint not null default 0;
alter table skein.run_models add column estimated_calls integer not null default 0;
alter table skein.run_models add column simulated_calls integer not null default 0;
`;
