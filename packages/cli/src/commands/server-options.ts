/** The options for the store and data folder of a server, shared by `skein serve` and the commands that inspect it. */
export const SERVER_PLACE = {
  store: {
    takes: "URL",
    about: "sqlite:FILE, file:FOLDER, postgres://… (SKEIN_STORE_URL, default: sqlite in the data folder)",
  },
  data: { takes: "FOLDER", about: "Where the key, files and the store are (SKEIN_DATA_DIR, default ~/.skein)" },
} as const;

export const SERVER_OPTIONS = {
  port: { takes: "N", about: "The port to listen on (SKEIN_PORT, default 7433; 0 takes a free one)" },
  host: {
    takes: "ADDRESS",
    about: "The address to listen on (SKEIN_HOST, default 127.0.0.1; others need SKEIN_API_KEY)",
  },
  role: {
    takes: "ROLE",
    about: "all, api (answers requests) or worker (runs sessions) (SKEIN_ROLE, default all)",
  },
  ...SERVER_PLACE,
  files: {
    takes: "PLACE",
    about:
      "Where generated files are stored: a folder or s3://BUCKET/PREFIX (SKEIN_FILES, default: beside the sessions)",
  },
  config: { takes: "FILE", about: "Agents and tools in code (default: skein.config.ts here, if there is one)" },
} as const;
