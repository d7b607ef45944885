/**
 * The lines of some files. They are read and parsed once, and all pieces of the copy (`pieces.ts`) are made from them.
 *
 * The lines are a table in a separate database, because row groups can be small in this database. DuckDB gives each
 * thread one row group at a time, and a batch has fewer rows than a row group of the usual size.
 */
import { FILE_LINES, LINE_FIELDS, REPAIRED_LINES, USAGE } from "./scan.ts";

const LINES = "skein_batch.lines";
export const BATCH_ROWS = "scan.batch_rows";
export const BATCH_ANSWERS = "scan.batch_answers";

/** The fields of a message that the pieces need. */
const SAID = JSON.stringify({
  id: "VARCHAR",
  role: "VARCHAR",
  model: "VARCHAR",
  stop_reason: "VARCHAR",
  usage: "JSON",
  content: [
    {
      type: "VARCHAR",
      text: "VARCHAR",
      thinking: "VARCHAR",
      content: "VARCHAR",
      id: "VARCHAR",
      name: "VARCHAR",
      input: "JSON",
      tool_use_id: "VARCHAR",
      is_error: "VARCHAR",
    },
  ],
});

export const ATTACH_BATCH = "ATTACH ':memory:' AS skein_batch (ROW_GROUP_SIZE 2048)";

const FIELDS = `${LINE_FIELDS}, json_transform(s.message, '${SAID}') AS said`;

/**
 * Fills the table with the lines of the current files. The bad lines of these files must be known.
 *
 * One thread reads a file that fits into one buffer of the reader, and adds the rows in order. So rows have the order
 * of the lines, and two threads can read different files. Two threads would read a larger file in mixed order. So its
 * lines are numbered while one thread reads them.
 */
export const readBatch = ({ isBuffered }: { readonly isBuffered: boolean }): string => `
SET preserve_insertion_order = ${!isBuffered};
CREATE OR REPLACE TABLE ${LINES} AS
SELECT s.file_index::BIGINT AS place, ${isBuffered ? "NULL::BIGINT" : "row_number() OVER ()"} AS row, NULL::BIGINT AS repaired_line, ${FIELDS}
FROM ${FILE_LINES};
SET preserve_insertion_order = true;
INSERT INTO ${LINES} SELECT place, NULL, line, ${FIELDS} FROM ${REPAIRED_LINES};
`;

/** The sources of the pieces. These views need the table of lines. */
export const BATCH_VIEWS = `
CREATE OR REPLACE VIEW ${BATCH_ROWS} AS
SELECT * EXCLUDE (row, repaired_line, first), coalesce(repaired_line, coalesce(row, l.rowid) - first + 1) AS line
FROM ${LINES} l JOIN (SELECT place, min(coalesce(row, rowid)) AS first FROM ${LINES} GROUP BY place) USING (place)
WHERE type IS NOT NULL;
CREATE OR REPLACE VIEW ${BATCH_ANSWERS} AS
SELECT place, line, type, uuid, timestamp_text AS timestamp, request_id AS "requestId", is_sidechain_text AS "isSidechain",
  CASE WHEN type = 'assistant'
    THEN {id: said.id, model: said.model, usage: json_transform(said.usage, '${JSON.stringify(USAGE)}')} END AS message,
  {"searchCount": CASE WHEN contains(tool_use_result::VARCHAR, 'searchCount"')
    THEN json_extract(tool_use_result, '$.searchCount') END} AS "toolUseResult",
  CASE WHEN type = 'progress' THEN json_transform(data, '{"type":"VARCHAR","message":"JSON"}') END AS data
FROM ${BATCH_ROWS};
`;
