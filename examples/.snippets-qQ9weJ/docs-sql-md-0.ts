import { createSql } from "@skein/sql";

const sql = await createSql({ roots: ["/home/me/.claude"] });
const [answer] = await sql.run("SELECT count(*) FROM claude.messages");
console.log(answer);
for await (const { rows } of sql.stream("SELECT * FROM claude.messages"))
  for await (const some of rows) console.log(some.length);
sql.close();
