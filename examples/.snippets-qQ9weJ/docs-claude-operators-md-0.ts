export default {
  claude: {
    // Keys without the scope admin that may run Claude Code.
    keys: ["builder"],
    // Folders in which requests choose freely, and folders that they can name.
    roots: ["/srv/projects"],
    folders: { website: "/srv/website" },
    // Names of variables, flags without their dashes.
    env: ["LOG_LEVEL"],
    extraArgs: ["debug-to-stderr"],
    // Settings of Claude Code: the settings themselves, or a file.
    settings: { team: { outputStyle: "Explanatory" }, strict: "/srv/claude/strict.json" },
    plugins: { review: "/srv/plugins/review" },
    mcpServers: {
      tickets: { command: "/usr/local/bin/tickets-mcp", args: ["--stdio"], env: { TICKETS_TOKEN: "…" } },
      wiki: { type: "http", url: "https://wiki.internal/mcp", headers: { authorization: "Bearer …" } },
    },
    bypassPermissions: false,
    nestedAgents: false,
  },
};
