/**
 * The transcripts as DuckDB reads them: in place, line by line.
 *
 * `skein.rows` has the fields of the lines that have a type; `skein.objects` has every line as JSON. Both add the lines
 * that only JavaScript can read (`skein.mended`): DuckDB voids a line with half of a surrogate pair or a byte that is
 * not UTF-8, and of two records glued into one line it sees neither.
 */

/**
 * Strict mode would fail a query on one bad line, and the default size of 16 MiB on lines that exist. Each scan and
 * thread takes twice that size for its buffer, so it is what the longest line needs, and never over 256 MiB.
 */
const READ =
  "format = 'newline_delimited', ignore_errors = true, maximum_object_size = getvariable('skein_line_bytes')";

/**
 * What is taken from a line, and the name it gets. Only texts and JSON: a number of an unexpected form would void the
 * whole line.
 */
const FIELDS: Readonly<Record<string, readonly [name: string, type: "VARCHAR" | "JSON"]>> = {
  type: ["type", "VARCHAR"],
  uuid: ["uuid", "VARCHAR"],
  parentUuid: ["parent_uuid", "VARCHAR"],
  timestamp: ["timestamp_text", "VARCHAR"],
  sessionId: ["line_session_id", "VARCHAR"],
  cwd: ["cwd", "VARCHAR"],
  version: ["version", "VARCHAR"],
  slug: ["slug", "VARCHAR"],
  gitBranch: ["git_branch", "VARCHAR"],
  isSidechain: ["is_sidechain_text", "VARCHAR"],
  isMeta: ["is_meta_text", "VARCHAR"],
  isCompactSummary: ["is_compact_summary_text", "VARCHAR"],
  agentId: ["line_agent_id", "VARCHAR"],
  requestId: ["request_id", "VARCHAR"],
  teamName: ["team_name", "VARCHAR"],
  origin: ["origin", "JSON"],
  message: ["message", "JSON"],
  toolUseResult: ["tool_use_result", "JSON"],
  content: ["content", "JSON"],
  summary: ["summary", "VARCHAR"],
  data: ["data", "JSON"],
  messageId: ["snapshot_message_id", "VARCHAR"],
  snapshot: ["snapshot", "JSON"],
  snapshotMessageId: ["delta_message_id", "VARCHAR"],
  trackingPath: ["tracking_path", "VARCHAR"],
  backup: ["backup", "JSON"],
};

const columns = Object.entries(FIELDS).map(([field, [, type]]) => `'${field}': '${type}'`);
const scanned = Object.entries(FIELDS).map(([field, [name]]) => `s."${field}" AS ${name}`);
const mended = Object.entries(FIELDS).map(([field, [name, type]]) =>
  type === "JSON"
    ? `json_extract(m.json, '$.${field}') AS ${name}`
    : `json_extract_string(m.json, '$.${field}') AS ${name}`,
);

const FILE_COLUMNS =
  "f.file, f.root, f.session_id, f.agent_id, f.project_path, f.folder, f.kind, f.layout, f.workflow_id";

export const SCAN = `
CREATE SCHEMA skein;
CREATE SCHEMA claude;

-- Every transcript, in the order of the list that is scanned; first_row is how many rows the files before it have.
CREATE TABLE skein.files (
  file_id BIGINT, file VARCHAR, root VARCHAR, folder VARCHAR, kind VARCHAR, layout VARCHAR, session_id VARCHAR,
  agent_id VARCHAR, workflow_id VARCHAR, project_path VARCHAR, size_bytes BIGINT, modified_at TIMESTAMP, first_row BIGINT);
CREATE TABLE skein.mended (file_id BIGINT, line BIGINT, json JSON);
CREATE TABLE claude.damage (file VARCHAR, line BIGINT, kind VARCHAR, message VARCHAR);

-- The reader does not number lines. It keeps their order, so a running number does; where no query asks for it, it
-- costs nothing.
CREATE VIEW skein.rows AS
SELECT ${FILE_COLUMNS}, f.file_id, s.n - f.first_row AS line, ${scanned.map((text) => text.replace(/^s\."\w+" AS /, "s.")).join(", ")}
FROM (
  SELECT s.file_index AS file_index, row_number() OVER () AS n, ${scanned.join(", ")}
  FROM read_ndjson(getvariable('skein_files'), columns = {${columns.join(", ")}}, records = 'true', ${READ}) s
) s JOIN skein.files f ON f.file_id = s.file_index
WHERE s.type IS NOT NULL
UNION ALL
SELECT ${FILE_COLUMNS}, f.file_id, m.line, ${mended.join(", ")}
FROM skein.mended m JOIN skein.files f USING (file_id)
WHERE json_extract_string(m.json, '$.type') IS NOT NULL;

CREATE VIEW skein.objects AS
SELECT ${FILE_COLUMNS}, f.file_id, s.n - f.first_row AS line, s.json
FROM (
  SELECT s.file_index AS file_index, row_number() OVER () AS n, s.json
  FROM read_ndjson_objects(getvariable('skein_files'), ${READ}) s
) s JOIN skein.files f ON f.file_id = s.file_index
-- A line may be JSON and no object: that is damage.
WHERE json_type(s.json) = 'OBJECT'
UNION ALL
SELECT ${FILE_COLUMNS}, f.file_id, m.line, m.json FROM skein.mended m JOIN skein.files f USING (file_id);

-- The blocks of a content as structures: one walk over the text, whatever is then asked of them.
CREATE MACRO skein.parts(content) AS CASE WHEN starts_with(content::VARCHAR, '[') THEN json_transform(content,
  '[{"type":"VARCHAR","text":"VARCHAR","thinking":"VARCHAR","content":"JSON"}]') END;
CREATE MACRO skein.result_text(content) AS CASE left(content::VARCHAR, 1)
  WHEN '"' THEN json_extract_string(content, '$') ELSE array_to_string(json_extract_string(content, '$[*].text'), chr(10)) END;
-- The text of a content: a string, or what its blocks say, one after the other.
CREATE MACRO skein.text_of(content) AS CASE left(content::VARCHAR, 1)
  WHEN '"' THEN json_extract_string(content, '$')
  WHEN '[' THEN nullif(array_to_string(list_transform(skein.parts(content),
    lambda b: CASE b.type WHEN 'tool_result' THEN skein.result_text(b.content) ELSE coalesce(b.text, b.thinking) END), chr(10)), '')
END;
-- Blocks of one type as they are. Most contents have none, and a search in the text tells it sooner than a walk.
CREATE MACRO skein.blocks(content, kind) AS CASE WHEN contains(content::VARCHAR, kind) AND starts_with(content::VARCHAR, '[')
  THEN list_filter(json_extract(content, '$[*]')::JSON[], lambda b: json_extract_string(b, '$.type') = kind) ELSE []::JSON[] END;
`;

/** How many rows DuckDB sees in each of some files, and how many of them it cannot read. */
export const COUNT_ROWS = `
SELECT file_index::BIGINT AS file_id, count(*) AS total, max(strlen(json)) AS longest,
  count(*) FILTER (json IS NULL OR json_type(json) <> 'OBJECT') AS bad
FROM read_ndjson_objects(getvariable('skein_new_files'), ${READ}) GROUP BY ALL`;
