export default {
  claude: {
    roots: ["/srv/projects"],
    folders: { website: "/srv/website" },
    env: ["LOG_LEVEL"],
    settings: { team: { outputStyle: "Explanatory" } },
    plugins: { review: "/srv/plugins/review" },
    mcpServers: { tickets: { command: "/usr/local/bin/tickets-mcp", env: { TICKETS_TOKEN: "…" } } },
  },
};
