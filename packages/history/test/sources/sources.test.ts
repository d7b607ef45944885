/** Tests every source with the suite of the contract. */
import { describeSource } from "./describe-source.ts";

describeSource({ agent: "claude-code", lines: /^[0-9a-f-]{36}\.jsonl$/ });
describeSource({ agent: "claude-desktop", lines: /^[0-9a-f-]{36}\.jsonl$/ });
describeSource({ agent: "codex", lines: /^rollout-.*\.jsonl$/ });
describeSource({ agent: "opencode", database: "opencode.db", table: "message" });
describeSource({ agent: "opencode-2", database: "opencode.db", table: "session_message" });
describeSource({ agent: "opencode-0" });
describeSource({ agent: "pi", lines: /\.jsonl$/ });
describeSource({ agent: "gemini", lines: /\.jsonl$/ });
describeSource({ agent: "copilot", lines: /^(events|c0.*)\.jsonl$/ });
describeSource({ agent: "copilot-store", database: "session-store.db", table: "turns" });
describeSource({ agent: "cursor", lines: /^d0.*\.jsonl$/, database: "state.vscdb", table: "cursorDiskKV" });
describeSource({ agent: "grok", lines: /^chat_history\.jsonl$/ });
describeSource({ agent: "qwen", lines: /\.jsonl$/ });
describeSource({ agent: "droid", lines: /\.jsonl$/ });
describeSource({ agent: "kimi", lines: /^wire\.jsonl$/ });
describeSource({ agent: "amp" });
describeSource({ agent: "goose", database: "sessions.db", table: "messages" });
