import { getUsage, listSessions, migrateWorkspace, searchSessions, withArchive } from "@skein/history";

const config = await withArchive(); // also what only the archive has left
const { data, pagination } = await listSessions({ ...config, limit: 10 });
const matches = await searchSessions('"out of memory"', config);
const { totals } = await getUsage(config);
const plan = await migrateWorkspace({ source: "/work/old", destination: "/work/new", mode: "move" }, { dryRun: true });
console.log(data.length, pagination.total, matches.data[0]?.context, totals.costUsd, plan.sessions);
